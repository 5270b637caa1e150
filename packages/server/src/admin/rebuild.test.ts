// Rebuilds and dead letters through the whole service, on the real store.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BackgroundOperation, DeadLetter, List } from '@tallystick/contract';
import { ask as askOf } from '../testing/ask.ts';
import { EVENT } from '../testing/bound-operations.ts';
import { eventCaller } from '../testing/event-caller.ts';
import { startEventsApp } from '../testing/events-app.ts';
import { finderOf } from '../testing/found-events.ts';

const { app } = startEventsApp();

// A test knows which of these the answer is.
const ask = (
  method: string,
  path: string,
  tenant: string,
  body?: object,
  headers: Record<string, string> = {},
) =>
  askOf<BackgroundOperation & List<DeadLetter>>(app, method, `/api/v1/admin/${path}`, {
    key: 'Secret',
    tenant,
    headers,
    body,
  });

const rebuild = (tenant: string, body?: object, more?: Record<string, string>) =>
  ask('POST', 'projections/rebuild', tenant, body, more);
const operation = (tenant: string, operationId: string) => ask('GET', `operations/${operationId}`, tenant);

async function completed(tenant: string, operationId: string): Promise<BackgroundOperation> {
  for (let look = 0; look < 5000; look++) {
    const { body } = await operation(tenant, operationId);
    if (body.status === 'Completed') return body;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error('the rebuild does not end');
}

test('a rebuild is accepted, can be followed, and ends with the same answers under another index version', async () => {
  for (let i = 0; i < 3; i++)
    await eventCaller(app, 'anew').ingest({ ...EVENT, payload: { note: 'refund' } });
  const finder = finderOf(app, 'anew');
  await finder.caughtUp();
  const before = (await finder.search({ query: 'refund' })).body;
  const { code, headers, body } = await rebuild('anew');
  assert.equal(code, '202');
  assert.equal(headers.get('location'), `/api/v1/admin/operations/${body.operationId}`);
  assert.equal(body.kind, 'ProjectionRebuild');
  assert.deepEqual([body.status, 'startedAt' in body, 'completedAt' in body], ['Pending', false, false]);
  const done = await completed('anew', body.operationId);
  assert.deepEqual(done.progress, { percent: 100, processedEvents: 3, totalEvents: 3 });
  assert.ok(done.requestedAt <= done.startedAt! && done.startedAt! <= done.completedAt!);
  const after = (await finder.search({ query: 'refund' })).body;
  assert.deepEqual(
    after.results.map(({ eventId }) => eventId),
    before.results.map(({ eventId }) => eventId),
  );
  assert.deepEqual([before.metadata.indexVersion, after.metadata.indexVersion], ['events-1', 'events-2']);
});

test('a key that is sent again gets the first answer, and starts nothing', async () => {
  await eventCaller(app, 'keyed').ingest(EVENT);
  const key = { 'Idempotency-Key': 'k-1' };
  const first = await rebuild('keyed', {}, key);
  await completed('keyed', first.body.operationId);
  const second = await rebuild('keyed', {}, key);
  assert.equal(second.code, '200');
  assert.deepEqual(second.body, first.body);
  const other = await rebuild('keyed', { projections: ['events'] }, key);
  assert.equal(other.code, '409 IDEMPOTENCY_KEY_REUSED');
});

test('what there is not cannot be rebuilt, and nobody sees the operations of another tenant', async () => {
  await eventCaller(app, 'own').ingest(EVENT);
  const unknown = await rebuild('own', { projections: ['events', 'colours'] });
  assert.equal(unknown.code, '422 VALIDATION_FAILED');
  assert.match(JSON.stringify(unknown.body), /projections\[1\]/);
  assert.equal((await rebuild('own', { tenantId: 'anew' })).code, '403 TENANT_MISMATCH');
  const { body } = await rebuild('own', { tenantId: 'own' });
  assert.equal((await operation('anew', body.operationId)).code, '404 OPERATION_NOT_FOUND');
  assert.equal((await operation('never-seen', body.operationId)).code, '404 OPERATION_NOT_FOUND');
  assert.equal((await operation('own', 'nonsense')).code, '404 OPERATION_NOT_FOUND');
});

test('there are no dead letters where everything was indexed', async () => {
  const { code, body } = await ask('GET', 'dead-letter-queue?source=Projection', 'own');
  assert.equal(code, '200');
  assert.deepEqual([body.data, body.pagination.total], [[], 0]);
  const gone = await ask('POST', 'dead-letter-queue/01KE0000000000000000000042/reprocess', 'own', {});
  assert.equal(gone.code, '404 MESSAGE_NOT_FOUND');
});
