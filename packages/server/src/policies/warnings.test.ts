import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { PolicyConfiguration, RuleConfiguration } from '@tallystick/contract';
import { processorMs } from '../testing/processor-time.ts';
import { warningsOf } from './warnings.ts';

type Conditions = NonNullable<RuleConfiguration['conditions']>;
type Effect = RuleConfiguration['effect'];

function policy(policyType: PolicyConfiguration['policyType'], rules: RuleConfiguration[]) {
  return { name: 'p', policyType, rules };
}

/** Of a rule with these conditions. */
function oddities(conditions: Conditions): Promise<string[]> {
  return told('Classification', [conditions, { classification: 'Secret' }]);
}

const unpaused = () => undefined;

/** The warnings that one rule gets of another: each is the number of its rule, and what is said of it. */
async function told(
  policyType: PolicyConfiguration['policyType'],
  ...rules: [Conditions, Effect][]
): Promise<string[]> {
  const all = rules.map(([conditions, effect]) => ({ conditions, effect }));
  const warnings = await warningsOf(policy(policyType, all), unpaused);
  return warnings.map(({ field, issue }) => `${field} ${issue}`);
}

describe('a rule that can never match', () => {
  const never = 'rules[0].conditions can never hold: ';

  it('asks for a value that another of its conditions refuses', async () => {
    for (const asked of [
      { eq: 'a', ne: 'a' },
      { in: ['a', 'b'], startsWith: 'c' },
      { in: ['a', 1], gt: 1 },
      { eq: 5, lt: 5 },
      { in: ['a'], contains: 'b' },
      { eq: 'a', in: ['b', 'c'] },
      { in: [] },
      { eq: 'a', detects: 'Iban' },
    ] satisfies Conditions[string][])
      assert.deepEqual(
        await oddities({ 'payload.a': asked }),
        [`${never}no value at payload.a satisfies all that is asked of it`],
        JSON.stringify(asked),
      );
    assert.deepEqual(await oddities({ action: 'Read.User', actions: ['Delete.*'] }), [
      `${never}no value at action satisfies all that is asked of it`,
    ]);
    assert.deepEqual(await oddities({ 'payload.a': 1, payload: { a: 2 } }), [
      `${never}no value at payload.a satisfies all that is asked of it`,
    ]);
  });

  it('asks for a field to be there and not to be there', async () => {
    for (const asked of [
      { exists: false, gt: 1 },
      { exists: false, startsWith: 'a' },
    ])
      assert.deepEqual(await oddities({ 'payload.a': asked }), [
        `${never}payload.a must be there and not be there`,
      ]);
    assert.deepEqual(await oddities({ 'payload.a': { exists: true }, payload: { a: { exists: false } } }), [
      `${never}payload.a must be there and not be there`,
    ]);
  });

  it('asks for a value between bounds that have nothing between them', async () => {
    for (const asked of [
      { gt: 5, lt: 3 },
      { gte: 5, lte: 4.5 },
      { gt: 5, lte: 5 },
      { gte: 'a', lt: 'a' },
      { gt: 5, lt: 'a' },
    ])
      assert.deepEqual(
        await oddities({ 'payload.a': asked }),
        [`${never}no value at payload.a lies within the bounds that are asked for`],
        JSON.stringify(asked),
      );
  });

  it('asks for an outcome or a type of actor that there is not', async () => {
    assert.deepEqual(await oddities({ outcome: 'Done' }), [
      `${never}outcome is one of Success, Failure, Denied`,
    ]);
    assert.match(
      (await oddities({ 'actor.actorType': ['Robot', 'user'] }))[0]!,
      /: actor\.actorType is one of User, /,
    );
    assert.match(
      (await oddities({ actor: { actorType: 'Robot' } }))[0]!,
      /: actor\.actorType is one of User, /,
    );
  });

  it('is about a field like any other if its name begins as null does', async () => {
    assert.match(
      (await oddities({ 'payload.nullable': { gt: 5, lt: 3 } }))[0]!,
      /no value at payload\.nullable lies /,
    );
    assert.match((await oddities({ payload: { null: { eq: 1, ne: 1 } } }))[0]!, /no value at payload\.null /);
  });

  it('is none of these', async () => {
    for (const conditions of [
      {},
      { 'payload.a': { gte: 5, lte: 5 } },
      { 'payload.a': { gt: 'b', lt: 'c' } },
      { 'payload.a': { in: ['a', 'b'], ne: 'a' } },
      { 'payload.a': { ne: 'a', exists: false } },
      // One element may satisfy the one, and another one the other.
      { 'payload.a[*]': { gt: 5, lt: 3 } },
      { 'payload.a[*].b': { eq: 1, ne: 2 } },
      { outcome: ['Done', 'Denied'] },
      { outcome: { ne: 'Done' } },
      { 'payload.outcome': 'Done' },
      { actions: ['Delete.*'], action: 'Delete.User' },
      { 'payload.a': 1, 'payload.b': 2 },
    ] satisfies Conditions[])
      assert.deepEqual(await oddities(conditions), [], JSON.stringify(conditions));
  });

  it('is not warned of where it is switched off', async () => {
    const rule = { enabled: false, conditions: { outcome: 'Done' }, effect: { classification: 'Secret' } };
    assert.deepEqual(await warningsOf(policy('Classification', [rule as RuleConfiguration]), unpaused), []);
  });
});

describe('a rule that never decides', () => {
  const byOther = (rule: number, other: number) =>
    `rules[${rule}] never decides: rules[${other}] matches all that it matches, and decides no less`;
  const denied = { outcome: 'Denied' };
  const deniedReads = { action: 'Read.*', outcome: 'Denied' };

  it('classifies no higher, and withholds no more, than a rule that matches as much', async () => {
    assert.deepEqual(
      await told(
        'Classification',
        [deniedReads, { classification: 'Internal' }],
        [denied, { classification: 'Secret' }],
      ),
      [byOther(0, 1)],
    );
    for (const more of [
      { classification: 'Secret' },
      { classification: 'Internal', redactFields: ['payload.a'] },
    ] satisfies Effect[])
      assert.deepEqual(
        await told('Classification', [deniedReads, more], [denied, { classification: 'Internal' }]),
        [],
      );
  });

  it('keeps no longer than a rule that matches as much', async () => {
    const keep = (retentionPeriod: string): Effect => ({ retentionPeriod });
    assert.deepEqual(await told('Retention', [denied, keep('P1Y')], [{}, keep('P12M')]), [byOther(0, 1)]);
    assert.deepEqual(await told('Retention', [denied, keep('P2Y')], [{}, keep('P1Y')]), []);
    assert.deepEqual(
      await told('Retention', [denied, { ...keep('P1D'), legalHold: true }], [{}, keep('P1Y')]),
      [],
    );
  });

  it('matches no more than another by a prefix, a list, a bound, or a field that must be there', async () => {
    const [short, long]: [Effect, Effect] = [{ retentionPeriod: 'P1Y' }, { retentionPeriod: 'P10Y' }];
    const within: [wide: Conditions, narrow: Conditions][] = [
      [{ action: 'Delete.*' }, { action: 'Delete.Invoice' }],
      [{ action: 'Delete.*' }, { actions: ['Delete.Invoice', 'Delete.I*'] }],
      [{ action: ['A.B', 'C.D'] }, { action: 'C.D', outcome: 'Denied' }],
      [{ 'payload.a': { startsWith: 'x' } }, { 'payload.a': 'xy' }],
      [{ 'payload.a': { startsWith: 'x' } }, { 'payload.a': { startsWith: 'xy' } }],
      [{ 'payload.a': { gt: 1 } }, { 'payload.a': { gte: 2 } }],
      [{ 'payload.a': { gte: 1 } }, { 'payload.a': { gt: 1 } }],
      [{ 'payload.a': { lt: 5 } }, { 'payload.a': 4 }],
      [{ 'payload.a': { exists: true } }, { 'payload.a': { contains: 'x' } }],
      [{ 'payload.l[*].a': { gt: 1 } }, { 'payload.l[*].a': 2 }],
    ];
    for (const [wide, narrow] of within) {
      assert.deepEqual(
        await told('Retention', [narrow, short], [wide, long]),
        [byOther(0, 1)],
        JSON.stringify(wide),
      );
      assert.deepEqual(await told('Retention', [wide, short], [narrow, long]), [], JSON.stringify(narrow));
    }
    const apart: [Conditions, Conditions][] = [
      [{ action: { ne: 'A.B' } }, { action: 'C.D' }],
      [{ 'payload.a': { gt: 1 } }, { 'payload.a': { gte: 1 } }],
      [{ 'payload.a': { gt: 1 } }, { 'payload.a': { lt: 3 } }],
      [{ 'payload.a': { lt: 1 } }, { 'payload.a': { lt: 3 } }],
      [{ 'payload.a': 1 }, { 'payload.a': '1' }],
      [{ 'payload.a': { exists: true } }, { 'payload.a': { ne: 1 } }],
      [{ 'payload.l[*].a': 2 }, { 'payload.l[0].a': 2 }],
      [{ action: 'Delete.I*' }, { action: 'Delete.*' }],
    ];
    for (const [wide, narrow] of apart)
      assert.deepEqual(
        await told('Retention', [narrow, short], [wide, long]),
        [],
        JSON.stringify([wide, narrow]),
      );
  });

  it('says what a denial says of all its roles already', async () => {
    const deny = (...roles: string[]) => ({ access: 'Deny', roles }) as Effect;
    const allow = { access: 'Allow', roles: ['Viewer'] } as Effect;
    assert.deepEqual(await told('Access', [denied, deny('Viewer')], [{}, deny('Viewer', 'Auditor')]), [
      byOther(0, 1),
    ]);
    assert.deepEqual(await told('Access', [denied, allow], [{}, deny('Viewer')]), [byOther(0, 1)]);
    assert.deepEqual(await told('Access', [denied, deny('Viewer', 'Auditor')], [{}, deny('Viewer')]), []);
    assert.deepEqual(await told('Access', [denied, deny('Viewer')], [{}, allow]), []);
  });

  it('is named once of two that are the same, and never if it tells people', async () => {
    const secret: Effect = { classification: 'Secret' };
    assert.deepEqual(await told('Classification', [denied, secret], [denied, secret]), [byOther(1, 0)]);
    // However they are written.
    assert.deepEqual(
      await told(
        'Classification',
        [{ 'actor.userId': 'a', outcome: 'Denied' }, secret],
        [{ outcome: 'Denied', actor: { userId: { eq: 'a' } } }, secret],
      ),
      [byOther(1, 0)],
    );
    assert.deepEqual(await told('Alert', [denied, {}], [denied, {}]), []);
  });

  it('names the other rule by its name', async () => {
    const rules: RuleConfiguration[] = [
      { name: 'all', effect: { classification: 'Secret' } },
      { conditions: denied, effect: { classification: 'Public' } },
    ];
    assert.match(
      (await warningsOf(policy('Classification', rules), unpaused))[0]!.issue,
      /^never decides: rules\[0\] \(all\) /,
    );
  });
});

describe('Access rules that contradict each other', () => {
  const deny: Effect = { access: 'Deny', roles: ['Viewer', 'Auditor'] };
  const allow: Effect = { access: 'Allow', roles: ['Auditor', 'Operator'] };

  it('are about the same events and the same role', async () => {
    const says = (other: number) =>
      `contradicts rules[${other}] for Auditor: one allows what the other denies, and deny wins`;
    assert.deepEqual(await told('Access', [{ outcome: 'Denied' }, deny], [{ outcome: 'Denied' }, allow]), [
      `rules[1] ${says(0)}`,
    ]);
    assert.deepEqual(await told('Access', [{}, allow], [{}, deny]), [`rules[1] ${says(0)}`]);
  });

  it('are none where events or roles differ', async () => {
    assert.deepEqual(await told('Access', [{ outcome: 'Denied' }, deny], [{}, allow]), []);
    assert.deepEqual(await told('Access', [{}, deny], [{}, { access: 'Allow', roles: ['Operator'] }]), []);
  });
});

describe('the time that it takes', () => {
  async function secondsOf(
    rules: RuleConfiguration[],
    type: PolicyConfiguration['policyType'],
  ): Promise<number> {
    let pauses = 0;
    const ms = await processorMs(async () => {
      const warnings = await warningsOf(policy(type, rules), () => void pauses++);
      assert.ok(warnings.length <= 100, 'no more are told than anybody reads');
    });
    assert.ok(pauses >= 3 * rules.length, 'others get their turn in between, also while the rules are read');
    return ms / 1000;
  }
  /** Conditions that all rules have, with one of its own at the end or none. */
  const alike = (own: boolean, effect: Effect) =>
    Array.from({ length: 500 }, (_, i) => ({
      conditions: Object.fromEntries([
        ...Array.from({ length: 19 }, (__, j) => [`payload.field${j}`, 'the same text in every rule']),
        ['payload.own', own ? i : 'x'],
      ]) as Conditions,
      effect,
    }));

  it('is short for very many rules that hardly differ, or not at all', async () => {
    for (const own of [true, false]) {
      assert.ok((await secondsOf(alike(own, {}), 'Alert')) < 3);
      assert.ok((await secondsOf(alike(own, { classification: 'Secret' }), 'Classification')) < 3);
      assert.ok((await secondsOf(alike(own, { access: 'Allow', roles: ['Viewer'] }), 'Access')) < 3);
    }
  });

  it('is short for rules that are each within the next', async () => {
    const bounds = (at: number) =>
      Object.fromEntries(Array.from({ length: 64 }, (_, i) => [`payload.a${i}`, { gt: at }]));
    const lists = (at: number) => ({ 'payload.a': { in: Array.from({ length: at + 1 }, (_, i) => i) } });
    for (const conditions of [bounds, lists]) {
      const effect = (i: number): Effect => ({ retentionPeriod: `P${i + 1}D` });
      const rules = Array.from({ length: 200 }, (_, i) => ({
        conditions: conditions(i) as Conditions,
        effect: effect(i),
      }));
      assert.ok((await secondsOf(rules, 'Retention')) < 3);
      assert.ok((await secondsOf(rules.toReversed(), 'Retention')) < 3);
    }
  });

  it('is short for very many prefixes', async () => {
    const prefixes = (rule: number) => [...Array.from({ length: 999 }, (_, i) => `a${rule}${i}*`), 'a*'];
    const rules = Array.from({ length: 80 }, (_, i): RuleConfiguration => {
      return { conditions: { action: prefixes(i) }, effect: { classification: 'Secret' } };
    });
    assert.ok((await secondsOf(rules, 'Classification')) < 1);
  });

  it('is short for two long lists at one path', async () => {
    const list = (prefix: string) => Array.from({ length: 1000 }, (_, i) => `${prefix} ${i}`);
    const conditions: Conditions = { 'payload.a': { in: list('a') }, payload: { a: { in: list('b') } } };
    assert.equal((await oddities(conditions)).length, 1);
    assert.ok(
      (await secondsOf([{ conditions, effect: { classification: 'Secret' } }], 'Classification')) < 1,
    );
  });
});
