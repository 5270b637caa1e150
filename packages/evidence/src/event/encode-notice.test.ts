import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseJson } from '../json/parse-json.ts';
import { encodeEvent } from './encode-event.ts';
import { encodeNotice, type NoticeFacts } from './encode-notice.ts';
import { KINDS } from './entry.ts';
import { readNotice } from './notices.ts';
import { openEvent } from './show-event.ts';

const ULID = '01KE0000000000000000000042';
const facts: NoticeFacts<typeof KINDS.streamSeal> = {
  kind: KINDS.streamSeal,
  action: 'Seal.EventStream',
  resource: { resourceType: 'EventStream', resourceId: ULID },
  payload: { streamId: ULID, nextStreamId: ULID, firstIndex: 0, lastIndex: 5, cause: 'Age' },
  correlationId: '5f0c2c8e-1d1e-4c53-9a58-3a8f3a1f0d11',
};
const TIMESTAMP = '2026-01-02T03:04:05.678Z';

test('what is written of a notice is the groups of an event, and what is read of it', () => {
  const texts = encodeNotice(facts, TIMESTAMP).map((bytes) => new TextDecoder().decode(bytes));
  const event = Object.assign({}, ...texts.map((text) => parseJson(text))) as Record<string, unknown>;
  assert.deepEqual(
    texts,
    encodeEvent(event).map(({ bytes }) => new TextDecoder().decode(bytes)),
  );
  assert.deepEqual([event['timestamp'], event['correlationId']], [TIMESTAMP, facts.correlationId]);
  const place = { index: 5, receivedAtMs: 0, previous: new Uint8Array(32), content: new Uint8Array(32) };
  const notice = readNotice(
    { kind: facts.kind, eventId: ULID, ...place },
    openEvent(event, () => new Uint8Array(16)),
  );
  assert.deepEqual({ ...notice.payload }, facts.payload);
});

test('a payload that its kind does not have is not written', () => {
  const payload = { ...facts.payload, lastIndex: -1 };
  const isRefused = { reason: 'NOTICE_INVALID', message: /kind 8 has no valid payload\.lastIndex/ };
  assert.throws(() => encodeNotice({ ...facts, payload }, TIMESTAMP), isRefused);
});
