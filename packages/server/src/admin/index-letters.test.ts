// An event that cannot be indexed, through the whole service: it is a dead letter, holds up no other, and is found once it can
// be read and is tried again.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DeadLetter, List } from '@tallystick/contract';
import { alteredEvents, ROW } from '../testing/altered-events.ts';
import { ask as askOf } from '../testing/ask.ts';
import { EVENT } from '../testing/bound-operations.ts';
import { eventCaller } from '../testing/event-caller.ts';
import { startEventsApp } from '../testing/events-app.ts';
import { finderOf } from '../testing/found-events.ts';
import { until } from '../testing/until.ts';

const { app } = startEventsApp();
const { ask, change } = alteredEvents(app);

/** One less makes no segment. */
const SEGMENT_EVENTS = 2048;

async function ingestMany(tenant: string, count: number): Promise<void> {
  for (let left = count; left > 0; left -= 500) {
    const events = Array.from({ length: Math.min(500, left) }, () => EVENT);
    assert.equal((await eventCaller(app, tenant).ingestBatch({ events })).status, 201);
  }
}

test('an event that cannot be read is a dead letter until it is tried again and found', async () => {
  const tenant = 'letters';
  const caller = eventCaller(app, tenant);
  const { eventId } = (await caller.ingest({ ...EVENT, payload: { note: 'refund' } })).body;
  await ingestMany(tenant, SEGMENT_EVENTS - 2);
  assert.equal((await ask(tenant, `/audit-events/${eventId}/proof`)).status, 200);
  change(eventId, `UPDATE contents SET text1 = CAST(x'00' || text1 AS BLOB) WHERE id = ${ROW}`);
  await ingestMany(tenant, 1);
  const letters = async () =>
    ((await ask(tenant, '/admin/dead-letter-queue?source=Projection')).body as List<DeadLetter>).data;
  await until(async () => (await letters()).length === 1);
  const [letter] = await letters();
  assert.deepEqual([letter?.source, letter?.status, letter?.tenantId], ['Projection', 'Held', tenant]);
  const finder = finderOf(app, tenant);
  assert.equal((await finder.search({ query: 'refund' })).body.results.length, 0);
  assert.equal((await finder.list('limit=1')).body.pagination.total, SEGMENT_EVENTS - 1);
  change(eventId, `UPDATE contents SET text1 = substr(text1, 2) WHERE id = ${ROW}`);
  const path = `/api/v1/admin/dead-letter-queue/${letter!.messageId}/reprocess`;
  assert.equal((await askOf(app, 'POST', path, { key: 'Secret', tenant, body: {} })).status, 202);
  await until(async () => (await letters()).length === 0);
  assert.equal((await finder.search({ query: 'refund' })).body.results[0]?.eventId, eventId);
  assert.equal((await finder.list('limit=1')).body.pagination.total, SEGMENT_EVENTS);
});
