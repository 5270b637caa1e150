import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type AuditEvent, type Classification, type Role, ROLES } from '@tallystick/contract';
import { testCall } from '../testing/test-call.ts';
import { type AccessRule, type AccessRules, fieldsWithheldBy } from './access-rules.ts';
import type { EventFacts } from './event-facts.ts';
import { contentSeen, isReadNoted, judgeBy, sightOf } from './sight.ts';

const LEVELS = ['Public', 'Internal', 'Confidential', 'Secret'] as const;

const sightWith = (clearance: Classification) =>
  sightOf(testCall({ caller: { ...testCall().caller!, clearance } }));
type Shown = Partial<Pick<AuditEvent, 'context' | 'payload' | 'redaction'>>;
const eventOf = (classification: Classification, kind: AuditEvent['kind'] = 'Event') => ({
  kind,
  classification,
  facts: () => assert.fail('facts were read that no rule is about'),
});

test('each clearance sees what it is cleared for, facts of what is above, and of a secret perhaps nothing', () => {
  const seen = Object.fromEntries(
    LEVELS.map((clearance) => {
      const sight = sightWith(clearance);
      return [clearance, LEVELS.map((level) => sight.judge(eventOf(level)).extent).join(' ')];
    }),
  );
  assert.deepEqual(seen, {
    Public: 'Whole Withheld Withheld Invisible',
    Internal: 'Whole Whole Withheld Invisible',
    Confidential: 'Whole Whole Whole Withheld',
    Secret: 'Whole Whole Whole Whole',
  });
});

test('an index finds what may be seen, and content where all of it may be seen', () => {
  for (const clearance of LEVELS) {
    const { index, judge } = sightWith(clearance);
    const those = (...extents: string[]) =>
      LEVELS.filter((level) => extents.includes(judge(eventOf(level)).extent));
    assert.deepEqual(index, { visible: those('Whole', 'Withheld'), whole: those('Whole') }, clearance);
  }
});

test('the part that goes to the index judges as the whole does', () => {
  for (const clearance of LEVELS) {
    const { index, judge } = sightWith(clearance);
    for (const kind of ['Event', 'Notice'] as const)
      for (const level of LEVELS) {
        const event = eventOf(level, kind);
        assert.deepEqual(judgeBy(structuredClone(index), event), judge(event));
      }
  }
});

/** What readers in these roles see of events of each level whose content is gone. */
function leftOf(roles: readonly Role[], ...rules: readonly Pick<AccessRule, 'conditions' | 'effect'>[]) {
  const all = rules.map(({ conditions, effect }) => ({
    policyId: 'p',
    policyName: 'p',
    policyVersion: 1,
    ruleId: 'r',
    conditions,
    effect: effect.access === undefined ? effect : { ...effect, roles: [...roles] },
  }));
  const access: AccessRules = {
    roles: roles.map((role) => ({ role, clearance: ROLES[role].clearance })),
    ceiling: 'Secret',
    rules: all.filter(({ effect }) => effect.access !== undefined),
    classifying: all.filter(({ effect }) => effect.access === undefined),
  };
  return LEVELS.map((level) => {
    const removed = { ...eventOf(level), facts: () => undefined };
    return judgeBy({ visible: LEVELS, whole: LEVELS, access }, removed).extent;
  }).join(' ');
}

test('removed content is judged by the clearance, and by what rules may have said of it at the least', () => {
  const some = { action: 'Fire.Person' };
  const deny = { access: 'Deny' } as const;
  const upTo = (maxClassification: Classification) => ({ access: 'Allow', maxClassification }) as const;
  const viewer = 'Whole Whole Withheld Invisible';
  const nothing = 'Invisible Invisible Invisible Invisible';
  const cases: [string, string, Parameters<typeof leftOf>][] = [
    ['a field', viewer, [['Viewer'], { conditions: {}, effect: { redactFields: ['actor.userName'] } }]],
    ['no more', viewer, [['Viewer'], { conditions: some, effect: { access: 'Allow' } }]],
    ['perhaps more', viewer, [['Viewer'], { conditions: some, effect: upTo('Secret') }]],
    ['surely more', 'Whole Whole Whole Whole', [['Viewer'], { conditions: {}, effect: upTo('Secret') }]],
    [
      'perhaps less',
      'Whole Withheld Withheld Invisible',
      [['Viewer'], { conditions: some, effect: upTo('Public') }],
    ],
    ['perhaps nothing', nothing, [['Viewer'], { conditions: some, effect: deny }]],
    [
      'nothing of a class',
      'Whole Invisible Withheld Invisible',
      [['Viewer'], { conditions: { classification: 'Internal' }, effect: deny }],
    ],
    [
      'perhaps nothing of a class',
      'Whole Invisible Withheld Invisible',
      [['Viewer'], { conditions: { ...some, classifications: ['Internal'] }, effect: deny }],
    ],
    [
      'surely more, and perhaps less',
      'Whole Whole Whole Withheld',
      [
        ['Viewer'],
        { conditions: {}, effect: upTo('Secret') },
        { conditions: some, effect: upTo('Confidential') },
      ],
    ],
    [
      'more by either role',
      'Whole Whole Withheld Invisible',
      [['Viewer', 'Auditor'], { conditions: some, effect: upTo('Internal') }],
    ],
  ];
  for (const [name, expected, readers] of cases) assert.equal(leftOf(...readers), expected, name);
});

test('of removed content the reader sees no more than of any event that it may have been', () => {
  const rules: Pick<AccessRule, 'conditions' | 'effect'>[] = [
    {
      conditions: { action: 'A.A' },
      effect: { access: 'Allow', roles: ['Viewer'], maxClassification: 'Secret' },
    },
    {
      conditions: { action: 'B.B' },
      effect: { access: 'Allow', roles: ['Auditor'], maxClassification: 'Public' },
    },
    {
      conditions: { outcome: 'Denied' },
      effect: { access: 'Allow', roles: ['Auditor'], maxClassification: 'Internal' },
    },
    {
      conditions: { classification: 'Secret' },
      effect: { access: 'Allow', roles: ['Viewer'], maxClassification: 'Confidential' },
    },
    { conditions: { outcome: 'Denied', action: 'A.A' }, effect: { access: 'Deny', roles: ['Auditor'] } },
  ];
  const place = { policyId: 'p', policyName: 'p', policyVersion: 1, ruleId: 'r' };
  const order = ['Invisible', 'Withheld', 'Whole'];
  for (let chosen = 0; chosen < 2 ** rules.length; chosen++)
    for (const roles of [['Viewer'], ['Auditor'], ['Viewer', 'Auditor']] as const)
      for (const classification of LEVELS) {
        const access: AccessRules = {
          roles: roles.map((role) => ({ role, clearance: ROLES[role].clearance })),
          ceiling: 'Secret',
          rules: rules
            .filter(
              (rule, i) =>
                (chosen >> i) % 2 === 1 &&
                rule.effect.roles!.some((role) => (roles as readonly Role[]).includes(role)),
            )
            .map((rule) => ({ ...place, ...rule })),
          classifying: [],
        };
        const sees = (facts: EventFacts | undefined) =>
          order.indexOf(
            judgeBy(
              { visible: LEVELS, whole: LEVELS, access },
              { ...eventOf(classification), facts: () => facts },
            ).extent,
          );
        for (const action of ['A.A', 'B.B', 'C.C'])
          for (const outcome of ['Success', 'Denied'] as const) {
            const facts = { ...FACTS, action, outcome, classification };
            assert.ok(
              sees(undefined) <= sees(facts),
              JSON.stringify([chosen, roles, classification, action, outcome]),
            );
          }
      }
});

const FACTS: EventFacts = {
  action: 'A.B',
  actor: { actorType: 'User' },
  resource: { resourceType: 'R', resourceId: '1' },
  outcome: 'Success',
  classification: undefined,
  correlationId: undefined,
  content: () => ({}),
};

test('a notice is seen whole with every clearance', () => {
  for (const clearance of LEVELS)
    assert.equal(sightWith(clearance).judge(eventOf('Internal', 'Notice')).extent, 'Whole');
});

test('nothing is seen of a tenant that is not known, or without a caller', () => {
  for (const call of [testCall({ tenantRecord: undefined }), testCall({ caller: undefined })]) {
    const { index, judge } = sightOf(call);
    assert.deepEqual(index, { visible: [], whole: [] });
    for (const level of LEVELS) assert.equal(judge(eventOf(level)).extent, 'Invisible');
  }
});

test('withheld content always looks the same', () => {
  const withheld = sightWith('Public').judge(eventOf('Internal'));
  for (const content of [{}, { payload: { a: 1 } }, { context: {}, payload: {} }]) {
    // As text: the order of the keys would tell which of the two is there.
    assert.equal(
      JSON.stringify(contentSeen(withheld, content)),
      JSON.stringify({
        context: {},
        payload: {},
        redaction: { fields: ['payload', 'context'], reason: 'ClassificationAboveClearance' },
      }),
    );
    assert.equal(contentSeen(sightWith('Internal').judge(eventOf('Internal')), content), content);
  }
});

test('withheld fields are named in one order, whichever rules withhold them, and none in what is withheld as a whole', () => {
  const seenWithout = (...redactFields: string[]) =>
    contentSeen<Shown>(
      { extent: 'Whole', withheldFields: fieldsWithheldBy({ redactFields }) },
      { payload: { note: 'a', person: { name: 'b' } } },
    );
  const [one, other] = [
    seenWithout('payload.person.name', 'payload.note'),
    seenWithout('payload.note', 'payload.person.name', 'payload.note'),
  ];
  assert.equal(JSON.stringify(one), JSON.stringify(other));
  assert.deepEqual(one.redaction?.fields, ['payload.note', 'payload.person.name']);
  assert.deepEqual(seenWithout('payload.note', 'payload', 'payload.person'), {
    payload: {},
    redaction: { fields: ['payload'], reason: 'AccessPolicy' },
  });
});

test('only reads of secrets are recorded', () => {
  assert.deepEqual(
    LEVELS.filter((classification) => isReadNoted({ classification })),
    ['Secret'],
  );
});
