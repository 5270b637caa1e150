import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AuditEvent, Classification } from '@tallystick/contract';
import { testCall } from '../testing/test-call.ts';
import { contentSeen, isReadNoted, judgeBy, sightOf } from './sight.ts';

const LEVELS = ['Public', 'Internal', 'Confidential', 'Secret'] as const;

const sightWith = (clearance: Classification) =>
  sightOf(testCall({ caller: { ...testCall().caller!, clearance } }));
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
    assert.deepEqual(contentSeen(withheld, content), {
      context: {},
      payload: {},
      redaction: { fields: ['payload', 'context'], reason: 'ClassificationAboveClearance' },
    });
    assert.equal(contentSeen(sightWith('Internal').judge(eventOf('Internal')), content), content);
  }
});

test('only reads of secrets are recorded', () => {
  assert.deepEqual(
    LEVELS.filter((classification) => isReadNoted({ classification })),
    ['Secret'],
  );
});
