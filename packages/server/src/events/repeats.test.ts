// Requests that are sent again under their key, through the whole service, on the real store.

import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { LIMITS } from '@tallystick/contract';
import { type Clock, systemClock } from '../runtime/clock.ts';
import { EVENT } from '../testing/bound-operations.ts';
import { believeClearance, eventCaller } from '../testing/event-caller.ts';
import { startEventsApp } from '../testing/events-app.ts';
import { startTestApp } from '../testing/test-app.ts';

const { app, acme } = startEventsApp();

let made = 0;
const newKey = () => ({ 'Idempotency-Key': `key-${++made}` });
const WRONG = { ...EVENT, action: 'x' };

test('the same event under its key gets the first answer again', async () => {
  const key = newKey();
  const event = { ...EVENT, payload: { a: 1, b: 2 } };
  const first = await acme.ingest(event, key);
  assert.equal(first.code, '201');
  for (const again of [event, { ...event, payload: { b: 2, a: 1 } }, JSON.stringify(event, null, 2)]) {
    const seen = await acme.ingest(again, key);
    assert.equal(seen.code, '200');
    assert.deepEqual(seen.body, { ...first.body, idempotent: true });
    assert.equal(seen.headers.get('location'), first.headers.get('location'));
    assert.equal(seen.headers.get('x-event-id'), first.body.eventId);
  }
});

test('a key that was used for another request is refused before anything in it is judged', async () => {
  const key = newKey();
  assert.equal((await acme.ingest(EVENT, key)).code, '201');
  for (const other of [{ ...EVENT, outcome: 'Success' }, WRONG, 5, [], { tenantId: 'other' }]) {
    assert.equal((await acme.ingest(other, key)).code, '409 IDEMPOTENCY_KEY_REUSED', JSON.stringify(other));
  }
  assert.equal((await acme.ingest('{', key)).code, '400 MALFORMED_JSON', 'JSON comes first');
  assert.equal(
    (await acme.ingest('{"a":1,"a":1}', key)).code,
    '422 VALIDATION_FAILED',
    'what has no one form',
  );
});

test('a key stands for one operation of one tenant', async () => {
  const key = newKey();
  assert.equal((await acme.ingest(EVENT, key)).code, '201');
  assert.equal((await acme.ingestBatch({ events: [EVENT] }, key)).code, '201');
  assert.equal((await eventCaller(app, 'other').ingest({ ...EVENT, payload: {} }, key)).code, '201');
});

test('only success uses a key up', async () => {
  const key = newKey();
  assert.equal((await acme.ingest(WRONG, key)).code, '422 VALIDATION_FAILED');
  assert.equal((await acme.ingest({ ...EVENT, tenantId: 'other' }, key)).code, '403 TENANT_MISMATCH');
  assert.equal((await acme.ingest(EVENT, key)).code, '201');
  const batchKey = newKey();
  assert.equal((await acme.ingestBatch({ events: [WRONG] }, batchKey)).code, '422 BATCH_REJECTED');
  assert.equal((await acme.ingestBatch({ events: [EVENT] }, batchKey)).code, '201');
});

test('a malformed key is refused, after the body is known to be JSON', async () => {
  for (const key of ['a b', 'x'.repeat(256)]) {
    const headers = { 'Idempotency-Key': key };
    assert.equal((await acme.ingest(WRONG, headers)).code, '400 INVALID_HEADER');
    assert.equal((await acme.ingest('{', headers)).code, '400 MALFORMED_JSON');
  }
});

test('many at once under one key store one event', async () => {
  for (const tenant of ['acme', 'not-there-yet']) {
    const caller = eventCaller(app, tenant);
    const key = newKey();
    const seen = await Promise.all(Array.from({ length: 20 }, () => caller.ingest(EVENT, key)));
    assert.deepEqual(seen.map(({ code }) => code).sort(), [
      ...Array.from({ length: 19 }, () => '200'),
      '201',
    ]);
    assert.equal(new Set(seen.map(({ body }) => body.eventId)).size, 1);
  }
});

test('a key on an event with an id of its own uses the key up also when the event was there', async () => {
  const event = { ...EVENT, eventId: '01KE0000000000000000000099' };
  const first = await acme.ingest(event);
  const key = newKey();
  for (let i = 0; i < 2; i++) {
    const seen = await acme.ingest(event, key);
    assert.deepEqual([seen.code, seen.body], ['200', { ...first.body, idempotent: true }]);
  }
  assert.equal((await acme.ingest(EVENT, key)).code, '409 IDEMPOTENCY_KEY_REUSED');
});

test('a batch under its key gets the first answer again, refusals with their details included', async () => {
  const batch = {
    events: [
      EVENT,
      WRONG,
      { ...EVENT, eventId: '01KE0000000000000000000077' },
      { ...EVENT, tenantId: 'other' },
      { ...EVENT, eventId: '01KE0000000000000000000077', payload: {} },
      { ...EVENT, timestamp: '2099-01-01T00:00:00Z' },
    ],
  };
  const key = newKey();
  const first = await acme.ingestBatch(batch, key);
  assert.equal(first.code, '207');
  const again = await acme.ingestBatch(batch, key);
  assert.equal(again.code, '200');
  assert.deepEqual(again.body, { ...first.body, idempotent: true });
  const other = await acme.ingestBatch({ ...batch, transactional: false }, key);
  assert.equal(other.code, '409 IDEMPOTENCY_KEY_REUSED');
});

test('a batch with an event that is broken as JSON is stored once, too', async () => {
  const event = JSON.stringify(EVENT);
  const body = `{"events":[${event},${event.slice(0, -1)},"payload":{"a":1,"a":2}}]}`;
  const key = newKey();
  const first = await acme.ingestBatch(body, key);
  assert.equal(first.code, '207');
  const again = await acme.ingestBatch(body, key);
  assert.equal(again.code, '200');
  assert.deepEqual(again.body, { ...first.body, idempotent: true });
});

test('of what was refused only the place and the code are kept', async () => {
  await using own = await startTestApp({}, { authenticate: believeClearance });
  const first = await eventCaller(own).ingestBatch({ events: [EVENT, WRONG] }, newKey());
  const db = new DatabaseSync(`${own.dataDirectory}/journal.db`, { readOnly: true });
  const { note } = db.prepare('SELECT note FROM recent_keys').get() as { note: string };
  db.close();
  const { batchId, timestamp } = first.body;
  assert.deepEqual(JSON.parse(note), {
    batchId,
    acceptedAtMs: Date.parse(timestamp),
    refused: [[1, 'VALIDATION_FAILED']],
  });
});

test('after 24 hours a key is free again, and a jump of the wall clock changes nothing', async () => {
  let [jumpedMs, passedMs] = [0, 0];
  const clock: Clock = {
    ...systemClock,
    now: () => systemClock.now() + jumpedMs + passedMs,
    monotonicNs: () => systemClock.monotonicNs() + passedMs * 1e6,
  };
  await using timed = await startTestApp({}, { authenticate: believeClearance, clock });
  const caller = eventCaller(timed);
  const key = newKey();
  const other = { ...EVENT, payload: {} };
  assert.equal((await caller.ingest(EVENT, key)).code, '201');
  jumpedMs = 30 * LIMITS.idempotencyWindowMs;
  assert.equal((await caller.ingest(other, key)).code, '409 IDEMPOTENCY_KEY_REUSED');
  jumpedMs = -LIMITS.idempotencyWindowMs;
  passedMs = LIMITS.idempotencyWindowMs - 60_000;
  assert.equal((await caller.ingest(EVENT, key)).code, '200');
  passedMs = LIMITS.idempotencyWindowMs;
  assert.equal((await caller.ingest(other, key)).code, '201');
});
