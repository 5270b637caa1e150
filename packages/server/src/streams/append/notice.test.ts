import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encodeEvent, KINDS, type NoticeFacts, openEvent, parseJson, readNotice } from '@tallystick/evidence';
import { draftNotice } from './notice.ts';

const KEY_ID = '01KE0000000000000000000042';
const facts: NoticeFacts<typeof KINDS.administration> = {
  kind: KINDS.administration,
  action: 'Create.ApiKey',
  resource: { resourceType: 'ApiKey', resourceId: KEY_ID },
  payload: { act: 'KeyCreated', requestId: 'r-1', subjectIds: [KEY_ID], count: 1 },
  correlationId: '5f0c2c8e-1d1e-4c53-9a58-3a8f3a1f0d11',
};
const place = { eventId: '01KE0000000000000000000043', nowMs: 1_800_000_000_000 };

test('a draft of a notice is what a verifier reads as that notice', () => {
  const draft = draftNotice(facts, place);
  const texts = draft.texts.map((text) => Buffer.from(text).toString());
  const [first, second] = texts.map((text) => parseJson(text) as Record<string, unknown>);
  const event = { ...first, ...second };
  const groups = encodeEvent(event).map(({ bytes }) => new TextDecoder().decode(bytes));
  assert.deepEqual(texts, groups, 'the texts are not the RFC 8785 form of the groups');
  const entry = {
    kind: draft.kind,
    index: 3,
    receivedAtMs: place.nowMs,
    eventId: draft.eventId,
    previous: new Uint8Array(32),
    content: new Uint8Array(32),
  };
  const notice = readNotice(
    entry,
    openEvent(event, () => new Uint8Array(16)),
  );
  assert.deepEqual({ ...notice.payload }, facts.payload);
  assert.deepEqual([draft.classification, draft.retention], ['Internal', undefined]);
  assert.deepEqual([first!['submittedBy'], first!['outcome']], ['system', 'Success']);
});

test('a payload or a correlation id of another form is not written down', () => {
  const payload = { ...facts.payload, subjectIds: ['not-an-id'] };
  assert.throws(() => draftNotice({ ...facts, payload }, place), /subjectIds/);
  assert.throws(() => draftNotice({ ...facts, correlationId: 'abc' }, place), /UUID/);
});
