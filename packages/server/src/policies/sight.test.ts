import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AuditEvent, Classification } from '@tallystick/contract';
import { testCall } from '../testing/test-call.ts';
import { fieldsWithheldBy } from './access-rules.ts';
import { contentSeen, indexSightOf, isReadNoted, judgeBy, sightOf } from './sight.ts';

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

test('without Access rules, removed content is judged by the clearance alone', () => {
  const withholding = {
    policyId: 'p',
    policyName: 'p',
    policyVersion: 1,
    ruleId: 'r',
    conditions: {},
    effect: { redactFields: ['actor.userName'] },
  };
  for (const clearance of LEVELS)
    for (const level of LEVELS) {
      const index = indexSightOf(clearance);
      const removed = { ...eventOf(level), facts: () => undefined };
      const access = {
        roles: [{ role: 'Viewer' as const, clearance }],
        ceiling: 'Secret' as const,
        rules: [],
        classifying: [withholding],
      };
      assert.deepEqual(judgeBy({ ...index, access }, removed), judgeBy(index, removed));
      const byRules = { ...access, rules: [withholding] };
      assert.equal(judgeBy({ ...index, access: byRules }, removed).extent, 'Invisible');
    }
});

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
