// The text of an event that is made of its stored texts is the one that is made of its values.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { canonicalJson, encodeEntry, KINDS } from '@tallystick/evidence';
import { judgeOf } from '../holds/hold-judge.ts';
import { indexSightOf, judgeBy } from '../policies/sight.ts';
import type { StoredContent, StoredEvent } from '../streams/log.ts';
import { writeJson } from '../written-json.ts';
import { type Judges, type Published, showEvent, writtenWhole } from './show.ts';

const PUBLISHED: Published = { firstIndex: 3, endIndex: 100, witnessedEndIndex: 0 };
const SIGHT = indexSightOf('Secret');
const JUDGES: Judges = {
  sight: { index: SIGHT, judge: (event) => judgeBy(SIGHT, event) },
  holds: judgeOf([]),
};
const FACTS = {
  action: 'Delete."classification":"Secret"',
  actor: { actorType: 'User', userId: 'ü\\"\u2028😀' },
  classification: 'Internal',
  correlationId: 'c',
  outcome: 'Success',
  resource: { resourceId: '</x>', resourceType: 'R' },
  submittedBy: 'key:1',
  timestamp: '2026-01-01T00:00:00Z',
};

function stored(content: object, more: Partial<StoredContent> = {}, facts: object = FACTS): StoredEvent {
  const entry = encodeEntry({
    kind: KINDS.event,
    index: 4,
    receivedAtMs: 1_767_225_600_123,
    eventId: '01KE0000000000000000000001',
    previous: new Uint8Array(32).fill(5),
    content: new Uint8Array(32).fill(6),
  });
  return {
    index: 7,
    entry,
    leaf: new Uint8Array(32).fill(7),
    classification: 'Internal',
    streamId: '01KE0000000000000000000002',
    content: {
      texts: [canonicalJson(facts), canonicalJson(content)],
      expiresAtMs: undefined,
      decidedBy: undefined,
      ...more,
    },
  };
}

const decidedBy = JSON.stringify({
  classification: [],
  retention: [{ policyId: 'p', ruleId: 'r', decided: true }],
});

test('an event is the same text, whichever of its members it has', () => {
  for (const event of [
    stored({}),
    stored({ payload: {} }),
    stored({ context: { '}': '{' } }),
    stored({ context: { 10: 1, 9: '"' }, payload: { b: [1e21, null], a: '\u0001' } }),
    stored({ payload: { a: 1 } }, { expiresAtMs: 4_102_444_800_000 }),
    stored({ context: {} }, { expiresAtMs: 4_102_444_800_000, decidedBy }),
    { ...stored({}), streamId: 'an "altered" one' },
  ]) {
    const shown = showEvent('a"c', event, JUDGES, PUBLISHED);
    assert.ok('event' in shown);
    assert.equal(writtenWhole('a"c', event, PUBLISHED), writeJson(shown.event));
  }
});

test('there is none of an event that is not as usual', () => {
  const confidential = { ...FACTS, classification: 'Confidential' };
  const [facts] = (stored({}).content as StoredContent).texts;
  const unusual: StoredEvent[] = [
    stored({}, {}, confidential),
    stored({}, { deletedPaths: ['/payload/a'] }),
    stored({}, { texts: [facts, '{"p\\u0061yload":{}}'] }),
    { ...stored({}), index: 8 },
    { ...stored({}), content: { fault: 'its leaf is not the hash of its entry' } },
    { ...stored({}), content: { noticeIndex: 9, purgedAtMs: 1, isDeleted: true } },
    { ...stored({}), content: undefined },
  ];
  for (const event of unusual) assert.equal(writtenWhole('acme', event, PUBLISHED), undefined);
});
