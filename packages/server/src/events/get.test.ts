// Reading one event through the whole service, on the real store.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Classification } from '@tallystick/contract';
import { eventIdBytes } from '@tallystick/evidence';
import { EVENT, EVENT_ID } from '../testing/bound-operations.ts';
import { eventCaller, KEY_ID } from '../testing/event-caller.ts';
import { startEventsApp } from '../testing/events-app.ts';
import { openRunningJournal } from '../testing/running-journal.ts';

const { app, acme } = startEventsApp();

const as = (clearance: Classification) => eventCaller(app, 'acme', clearance);
const ingested = async (more: object = {}) =>
  (await acme.ingest({ ...EVENT, ...more })).body.eventId as string;
/** Under a checkpoint, for which its proof has waited: from then on every answer says the same of it. */
const signed = async (more: object) => {
  const eventId = await ingested(more);
  assert.equal((await acme.get(`${eventId}/proof`)).status, 200);
  return eventId;
};

test('an event is shown as it was accepted, with its place in the log', async () => {
  const eventId = await ingested({
    timestamp: '2026-01-02T04:04:05.123456789+01:00',
    payload: { b: [1, 0.1, -0], a: { __proto__: null, ü: '😀' } },
    context: { ipAddress: '203.0.113.7' },
    outcome: 'Denied',
    classification: 'Confidential',
  });
  const { status, body } = await acme.get(eventId);
  assert.equal(status, 200);
  const { integrity, retention, receivedAt, sequence, correlationId, ...rest } = body;
  assert.deepEqual(rest, {
    eventId,
    tenantId: 'acme',
    kind: 'Event',
    timestamp: '2026-01-02T03:04:05.123456789Z',
    actor: { actorType: 'User', userId: 'u-1' },
    action: 'Delete.Invoice',
    resource: { resourceType: 'Invoice', resourceId: 'INV-42' },
    classification: 'Confidential',
    outcome: 'Denied',
    context: { ipAddress: '203.0.113.7' },
    payload: { a: { ü: '😀' }, b: [1, 0.1, 0] },
    submittedBy: `key:${KEY_ID}`,
  });
  assert.equal(integrity.leafIndex, sequence - 1);
  assert.match(integrity.leafHash, /^[0-9a-f]{64}$/);
  assert.match(integrity.previousHash, /^[0-9a-f]{64}$/);
  assert.match(integrity.status, /^(Chained|Checkpointed)$/);
  assert.equal(retention.legalHold, false);
  assert.equal(Number(retention.expiresAt.slice(0, 4)) - Number(receivedAt.slice(0, 4)), 7);
  assert.match(correlationId, /^[0-9a-f-]{36}$/);
});

test('what was not sent is not shown', async () => {
  const { body } = await acme.get(await ingested());
  for (const absent of ['payload', 'context', 'redaction', 'relatedEntities', 'purgedAt']) {
    assert.ok(!(absent in body), absent);
  }
});

test('an id is read without regard to case; absent, malformed and foreign ones are the same', async () => {
  const eventId = await ingested();
  assert.equal((await acme.get(eventId.toLowerCase())).body.eventId, eventId);
  const missing = [
    await acme.get(EVENT_ID),
    await acme.get('not-an-id'),
    await acme.get(`8${EVENT_ID.slice(1)}`),
    await eventCaller(app, 'other').get(eventId),
    await eventCaller(app, 'never-seen').get(eventId),
  ];
  for (const { code } of missing) assert.equal(code, '404 EVENT_NOT_FOUND');
  const told = ({ body }: (typeof missing)[number]) => [body.error.message, body.error.details];
  assert.deepEqual(told(missing[0]!), told(missing[3]!));
  assert.deepEqual(told(missing[0]!), told(missing[4]!));
});

test('a reader below the classification sees the facts, and nothing of the content, not even if there is any', async () => {
  for (const more of [{ payload: { secret: 1 }, context: { a: 1 } }, { payload: { b: 1 } }, {}]) {
    const eventId = await ingested({ ...more, classification: 'Confidential' });
    const { status, body } = await as('Internal').get(eventId);
    assert.equal(status, 200);
    assert.deepEqual([body.payload, body.context], [{}, {}]);
    assert.deepEqual(body.redaction, {
      fields: ['payload', 'context'],
      reason: 'ClassificationAboveClearance',
    });
    assert.equal(body.action, 'Delete.Invoice');
    assert.ok((await as('Confidential').get(eventId)).body.redaction === undefined);
  }
});

test('a secret is invisible below Confidential, and withheld there', async () => {
  const eventId = await ingested({ payload: { a: 1 }, classification: 'Secret' });
  for (const clearance of ['Public', 'Internal'] as const) {
    const withheld = await as(clearance).get(eventId);
    const absent = await as(clearance).get(EVENT_ID);
    assert.equal(withheld.code, '404 EVENT_NOT_FOUND');
    assert.deepEqual(withheld.body.error.message, absent.body.error.message);
  }
  assert.deepEqual((await as('Confidential').get(eventId)).body.payload, {});
  assert.deepEqual((await as('Secret').get(eventId)).body.payload, { a: 1 });
});

test('of a secret that is invisible nothing is told, not even that its content is spoilt', async () => {
  const eventId = await ingested({ payload: { a: 1 }, classification: 'Secret' });
  // A read that shows this content fails.
  using db = openRunningJournal(app.dataDirectory);
  const spoilt = db
    .prepare("UPDATE contents SET text1 = x'ff' WHERE id = (SELECT id FROM entries WHERE event_id = ?)")
    .run(eventIdBytes(eventId));
  assert.equal(spoilt.changes, 1);
  assert.equal((await as('Confidential').get(eventId)).status, 500);
  assert.equal((await as('Internal').get(eventId)).code, '404 EVENT_NOT_FOUND');
});

test('that a secret was read is in the log before the answer; other reads leave nothing', async () => {
  const own = eventCaller(app, 'secretive');
  const { body: receipt } = await own.ingest({ ...EVENT, classification: 'Secret' });
  await own.get(receipt.eventId);
  await eventCaller(app, 'secretive', 'Internal').get(receipt.eventId);
  const next = await own.ingest(EVENT);
  await own.get(next.body.eventId);
  const { sequence, integrity } = (await own.get(next.body.eventId)).body;
  assert.equal(sequence, 3, 'the event, one notice, the next event');
  assert.notEqual(integrity.previousHash, (await own.get(receipt.eventId)).body.integrity.leafHash);
});

test('an entity tag covers what this reader gets, and a request with it gets 304', async () => {
  const eventId = await signed({ payload: { a: 1 }, classification: 'Confidential' });
  const first = await acme.get(eventId);
  const etag = first.headers.get('etag') ?? '';
  assert.match(etag, /^"[\w-]+"$/);
  assert.equal(first.headers.get('cache-control'), 'private, no-cache');
  assert.equal((await acme.get(eventId)).headers.get('etag'), etag);
  for (const named of [etag, `W/${etag}`, `"x", ${etag}`, '*']) {
    const seen = await acme.get(eventId, { 'If-None-Match': named });
    assert.equal(seen.status, 304, named);
    assert.equal(seen.headers.get('etag'), etag);
    assert.equal(seen.headers.get('cache-control'), 'private, no-cache');
    assert.equal(seen.headers.get('content-type'), null);
  }
  assert.equal((await acme.get(eventId, { 'If-None-Match': '"x"' })).status, 200);
  const withheld = await as('Internal').get(eventId, { 'If-None-Match': etag });
  assert.equal(withheld.status, 200, 'another representation');
  assert.equal((await acme.get(EVENT_ID, { 'If-None-Match': '*' })).code, '404 EVENT_NOT_FOUND');
});

test('a large answer is compressed on request, under a tag of its own', async () => {
  const eventId = await signed({ payload: { text: 'späť '.repeat(400) } });
  const plain = await acme.get(eventId, { 'Accept-Encoding': 'identity' });
  assert.equal(plain.headers.get('content-encoding'), null);
  const tags = new Set([plain.headers.get('etag')]);
  for (const coding of ['br', 'gzip']) {
    const seen = await acme.get(eventId, { 'Accept-Encoding': coding });
    assert.equal(seen.headers.get('content-encoding'), coding);
    assert.match(seen.headers.get('vary') ?? '', /Accept-Encoding/);
    assert.deepEqual(seen.body, plain.body);
    const etag = seen.headers.get('etag') ?? '';
    tags.add(etag);
    assert.equal((await acme.get(eventId, { 'Accept-Encoding': coding, 'If-None-Match': etag })).status, 304);
    assert.equal(
      (await acme.get(eventId, { 'Accept-Encoding': 'identity', 'If-None-Match': etag })).status,
      200,
    );
  }
  assert.equal(tags.size, 3);
});
