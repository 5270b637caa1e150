import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CLASSIFICATIONS, type Rule } from '@tallystick/contract';
import { canonicalJson } from '@tallystick/evidence';
import * as fc from 'fast-check';
import { higher } from '../access/roles.ts';
import { TENANT } from '../testing/test-call.ts';
import { deciderOf } from './decide.ts';
import { decidingPolicies, type MatchedRule, readDecidedBy } from './decided-by.ts';
import type { EventFacts } from './event-facts.ts';
import type { PolicyRecord } from './policy.ts';
import { anyAskedEvent, anyConditions, factsOf } from './testing/any-condition.ts';
import { plainlyHold } from './testing/plain-condition.ts';

/** Nobody may ask for more than the hint. */
function hinted(hint: EventFacts['classification']): EventFacts {
  const asked = (): never => assert.fail('a fact was read that no rule is about');
  return {
    classification: hint,
    content: asked,
    get action() {
      return asked();
    },
    get actor() {
      return asked();
    },
    get resource() {
      return asked();
    },
    get outcome() {
      return asked();
    },
    get correlationId() {
      return asked();
    },
  };
}

const classification = fc.constantFrom(...CLASSIFICATIONS);
const hint = fc.option(classification, { nil: undefined });
const retention = fc.constantFrom('P7Y', 'P30D', 'PT1S');

test("the tenant's settings decide: the hint raises the classification, and never lowers it", () => {
  fc.assert(
    fc.property(classification, hint, retention, (defaultClassification, hinting, defaultRetention) => {
      const tenant = { ...TENANT, defaultClassification, defaultRetention };
      const places = [defaultClassification, ...(hinting === undefined ? [] : [hinting])].map((each) =>
        CLASSIFICATIONS.indexOf(each),
      );
      assert.deepEqual(deciderOf(tenant)(hinted(hinting), 0), {
        classification: CLASSIFICATIONS[Math.max(...places)],
        retention: defaultRetention,
        decidedBy:
          hinting === undefined
            ? undefined
            : canonicalJson({ classification: [], hint: hinting, retention: [] }),
      });
    }),
    { seed: 20260101, numRuns: 200 },
  );
});

test('a decider is compiled once for each record, and anew when a record takes its place', () => {
  const decide = deciderOf(TENANT);
  assert.equal(deciderOf(TENANT), decide);
  const changed = { ...TENANT, defaultRetention: 'P1D' };
  assert.deepEqual(
    [decide, deciderOf(changed)].map((each) => each(hinted(undefined), 0).retention),
    ['P7Y', 'P1D'],
  );
});

test('a retention that is none fails before anything is appended', () => {
  assert.throws(() => deciderOf({ ...TENANT, defaultRetention: '7Y' }), /7Y is no duration/);
});

/** A policy of rules about all events, each by its id and period. */
function keeping(...periods: readonly (readonly [ruleId: string, retentionPeriod: string])[]): PolicyRecord {
  return {
    policyId: '01KE0000000000000000000001',
    tenantId: 'acme',
    version: 1,
    name: 'Kept',
    description: undefined,
    policyType: 'Retention',
    status: 'Active',
    priority: 100,
    rules: periods.map(([ruleId, retentionPeriod]) => ({
      ruleId,
      enabled: true,
      conditions: {},
      effect: { retentionPeriod },
    })),
    createdAtMs: 0,
    createdBy: 'key',
    updatedAtMs: 0,
    updatedBy: 'key',
    noticeId: '01KE0000000000000000000002',
  };
}

test('which of two periods is longer depends on the day', () => {
  const decide = deciderOf({ ...TENANT, policies: [keeping(['month', 'P1M'], ['days', 'P30D'])] });
  const on = (day: string) => decide(hinted(undefined), Date.parse(day)).retention;
  assert.deepEqual(['2026-01-01', '2026-02-01', '2026-02-01', '2026-03-01'].map(on), [
    'P1M',
    'P30D',
    'P30D',
    'P1M',
  ]);
});

test('of very many rules that match, those that decided are named first', () => {
  const weak = Array.from({ length: 30 }, (_, i) => [`weak ${i}`, 'P1D'] as const);
  const decide = deciderOf({ ...TENANT, policies: [keeping(...weak, ['strong', 'P9Y'])] });
  const { retention } = readDecidedBy(decide(hinted(undefined), 0).decidedBy);
  assert.equal(retention.length, 20);
  assert.deepEqual([retention[0]!.ruleId, retention[0]!.decided], ['strong', true]);
});

test('rules that keep an event equally long have all decided, however their periods are written', () => {
  const policy = keeping(['a', 'P12M'], ['b', 'P30D'], ['c', 'P1Y']);
  const { decidedBy } = deciderOf({ ...TENANT, policies: [policy] })(hinted(undefined), 0);
  assert.deepEqual(
    readDecidedBy(decidedBy).retention.map(({ ruleId, decided }) => [ruleId, decided]),
    [
      ['a', true],
      ['b', false],
      ['c', true],
    ],
  );
});

/** A policy of rules that each have conditions and an effect; their ids are their numbers. */
function deciding(
  policyType: PolicyRecord['policyType'],
  ...rules: readonly (readonly [conditions: Rule['conditions'], effect: Rule['effect']])[]
): PolicyRecord {
  const made = rules.map(([conditions, effect], i) => ({
    ruleId: String(i),
    enabled: true,
    conditions,
    effect,
  }));
  return { ...keeping(), policyId: policyType, name: policyType, policyType, rules: made };
}

function sent(facts: Partial<EventFacts> = {}): EventFacts {
  return {
    classification: undefined,
    action: 'Delete.Invoice',
    actor: { actorType: 'User', userId: 'u-1' },
    resource: { resourceType: 'Invoice', resourceId: 'INV-42' },
    outcome: 'Success',
    correlationId: undefined,
    content: () => assert.fail('content was read though no rule is about it'),
    ...facts,
  };
}

const decidedIds = (rules: readonly MatchedRule[]) =>
  rules.map(({ ruleId, decided }) => `${ruleId} ${decided ? 'decided' : 'matched'}`);

const CLASSIFYING = deciding(
  'Classification',
  [{ action: 'Delete.*' }, { classification: 'Internal' }],
  [{ 'resource.resourceType': 'Invoice' }, { classification: 'Confidential' }],
  [{ outcome: 'Denied' }, { classification: 'Secret' }],
);

test('the highest classification of the rules that match wins, also above the settings and below them', () => {
  const decide = deciderOf({ ...TENANT, defaultClassification: 'Secret', policies: [CLASSIFYING] });
  const { classification, retention, decidedBy } = decide(sent(), 0);
  assert.deepEqual([classification, retention], ['Confidential', 'P7Y']);
  const by = readDecidedBy(decidedBy);
  assert.deepEqual(decidedIds(by.classification), ['0 matched', '1 decided']);
  assert.deepEqual([by.retention, by.hint], [[], undefined]);
  const denied = decide(sent({ outcome: 'Denied' }), 0);
  assert.equal(denied.classification, 'Secret');
  const other = { action: 'Read.User', resource: { resourceType: 'User', resourceId: '1' } };
  assert.deepEqual(decide(sent(other), 0), {
    classification: 'Secret',
    retention: 'P7Y',
    decidedBy: undefined,
  });
});

test('the hint raises what the rules say, and then no rule has decided; it lowers nothing', () => {
  const decide = deciderOf({ ...TENANT, policies: [CLASSIFYING] });
  const by = (hint: EventFacts['classification']) => {
    const { classification, decidedBy } = decide(sent({ classification: hint }), 0);
    const read = readDecidedBy(decidedBy);
    return [classification, read.hint, ...decidedIds(read.classification)];
  };
  assert.deepEqual(by('Secret'), ['Secret', 'Secret', '0 matched', '1 matched']);
  assert.deepEqual(by('Confidential'), ['Confidential', 'Confidential', '0 matched', '1 decided']);
  assert.deepEqual(by('Public'), ['Confidential', 'Public', '0 matched', '1 decided']);
});

test('rules that classify see the hint, and rules that keep see the classification that was decided', () => {
  const classifying = deciding(
    'Classification',
    [{ classification: 'Public' }, { classification: 'Confidential' }],
    [{ classification: { exists: false } }, { classification: 'Secret' }],
  );
  const retaining = deciding(
    'Retention',
    [{ classification: 'Public' }, { retentionPeriod: 'P9Y' }],
    [{ classification: 'Confidential' }, { retentionPeriod: 'P2Y' }],
    [{ classification: { exists: false } }, { retentionPeriod: 'P10Y' }],
    [{ classifications: ['Sec*', 'Internal'] }, { retentionPeriod: 'P1D' }],
  );
  const decide = deciderOf({ ...TENANT, policies: [retaining, classifying] });
  const by = (hint: EventFacts['classification']) => {
    const { classification, retention } = decide(sent({ classification: hint }), 0);
    return [classification, retention];
  };
  assert.deepEqual(by('Public'), ['Confidential', 'P2Y']);
  assert.deepEqual(by(undefined), ['Secret', 'P1D']);
  // By the settings of the tenant.
  assert.deepEqual(by('Internal'), ['Internal', 'P1D']);
});

test('a rule keeps an event shorter than the settings would; of several the longest wins', () => {
  const policy = deciding(
    'Retention',
    [{}, { retentionPeriod: 'P1D' }],
    [{ 'payload.amount': { gt: 1000 } }, { retentionPeriod: 'P2D' }],
  );
  const decide = deciderOf({ ...TENANT, policies: [policy] });
  const by = (amount: number) => {
    const { retention, decidedBy } = decide(sent({ content: () => ({ payload: { amount } }) }), 0);
    return [retention, ...decidedIds(readDecidedBy(decidedBy).retention)];
  };
  assert.deepEqual(by(1), ['P1D', '0 decided']);
  assert.deepEqual(by(2000), ['P2D', '0 matched', '1 decided']);
});

test('rules that are switched off decide nothing, and policies of other types neither', () => {
  const off = { ...CLASSIFYING, rules: CLASSIFYING.rules.map((rule) => ({ ...rule, enabled: false })) };
  const alert = deciding('Alert', [{ 'payload.a': 1 }, {}]);
  const decide = deciderOf({ ...TENANT, policies: [off, alert] });
  assert.deepEqual(decide(sent(), 0), {
    classification: 'Internal',
    retention: 'P7Y',
    decidedBy: undefined,
  });
});

test('rules are named in the order of the priorities of their policies', () => {
  const named = (policyId: string, priority: number) => ({ ...CLASSIFYING, policyId, priority });
  const policies = [named('low', 1), named('high', 3), named('middle', 2)];
  const { decidedBy } = deciderOf({ ...TENANT, policies })(sent(), 0);
  const ids = readDecidedBy(decidedBy).classification.map(({ policyId }) => policyId);
  assert.deepEqual([...new Set(ids)], ['high', 'middle', 'low']);
});

test('each policy that has decided is told, however many there are, and not each rule', () => {
  const policies = Array.from({ length: 50 }, (_, i) => {
    const id = `${i}`.padStart(2, '0');
    const effect = i % 2 === 0 ? { classification: 'Secret' as const } : { retentionPeriod: 'P9Y' };
    return {
      ...deciding(i % 2 === 0 ? 'Classification' : 'Retention', [{}, effect]),
      policyId: id,
      name: id,
    };
  });
  const { decidedBy } = deciderOf({ ...TENANT, policies })(sent(), 0);
  const { classification, retention } = readDecidedBy(decidedBy);
  assert.deepEqual([classification.length, retention.length], [20, 20]);
  assert.deepEqual(
    decidingPolicies(decidedBy!).toSorted(),
    policies.map(({ policyId }) => policyId),
  );
  // Few have so many.
  assert.ok(
    !deciderOf({ ...TENANT, policies: policies.slice(0, 40) })(sent(), 0).decidedBy!.includes('also'),
  );
});

test('each rule decides as it does by itself, however many there are and whatever they ask for', () => {
  const rulesOf = <Effect extends Rule['effect']>(effect: fc.Arbitrary<Effect>) =>
    fc.array(fc.tuple(anyConditions as fc.Arbitrary<Rule['conditions']>, effect), { maxLength: 6 });
  const classifying = rulesOf(fc.record({ classification }));
  const retaining = rulesOf(fc.record({ retentionPeriod: fc.constantFrom('P1D', 'P2D', 'P3D', 'P4D') }));
  const events = fc.array(anyAskedEvent, { minLength: 1, maxLength: 8 });
  fc.assert(
    fc.property(classifying, retaining, events, (classify, retain, asked) => {
      const policies = [deciding('Retention', ...retain), deciding('Classification', ...classify)];
      const decide = deciderOf({ ...TENANT, policies });
      for (const event of [...asked, ...asked]) {
        const hint = event.classification;
        const classified = classify.filter(([conditions]) => plainlyHold(conditions, event));
        const [first, ...others] = classified.map(([, effect]) => effect.classification);
        const byRules = first === undefined ? TENANT.defaultClassification : others.reduce(higher, first);
        const decided = hint === undefined ? byRules : higher(byRules, hint);
        const kept = { ...event, classification: decided };
        const retained = retain.filter(([conditions]) => plainlyHold(conditions, kept));
        const decision = decide(factsOf(event), 0);
        assert.equal(decision.classification, decided);
        const longest = retained
          .map(([, { retentionPeriod }]) => retentionPeriod)
          .toSorted()
          .at(-1);
        assert.equal(decision.retention, longest ?? TENANT.defaultRetention);
        const by = readDecidedBy(decision.decidedBy);
        const ids = (rules: readonly { ruleId: string }[]) => rules.map(({ ruleId }) => Number(ruleId));
        assert.deepEqual(
          ids(by.classification),
          classified.map((rule) => classify.indexOf(rule)),
        );
        assert.deepEqual(
          ids(by.retention),
          retained.map((rule) => retain.indexOf(rule)),
        );
      }
    }),
    { seed: 20260101, numRuns: 500 },
  );
});
