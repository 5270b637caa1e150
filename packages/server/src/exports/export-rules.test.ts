// Who may see which export, how many there may be, and what becomes of those that fail, through the whole service.

import assert from 'node:assert/strict';
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { AuditEvent, DeadLetter, Export, ExportReceipt, List } from '@tallystick/contract';
import { PLATFORM_KEY, WITH_PLATFORM_KEY } from '../testing/admin-caller.ts';
import { ask as askOf, type Told } from '../testing/ask.ts';
import { policedTenant } from '../testing/policed-tenant.ts';
import { startTestApp, type TestApp } from '../testing/test-app.ts';
import { until } from '../testing/until.ts';

let app: TestApp;
before(async () => {
  app = await startTestApp(WITH_PLATFORM_KEY);
});
after(() => app[Symbol.asyncDispose]());

interface Asking {
  readonly key?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const askerOf =
  (tenant: string) =>
  <T = Export>(
    method: string,
    path: string,
    body?: unknown,
    { key, headers }: Asking = {},
  ): Promise<Told<T>> =>
    askOf(app, method, `/api/v1${path}`, {
      key: key ?? PLATFORM_KEY,
      tenant,
      ...(headers && { headers }),
      body,
    });

async function ended(ask: ReturnType<typeof askerOf>, exportId: string, key = PLATFORM_KEY): Promise<Export> {
  let seen: Export | undefined;
  await until(async () => {
    seen = (await ask('GET', `/exports/${exportId}`, undefined, { key })).body;
    return seen.status === 'Completed' || seen.status === 'Failed';
  });
  return seen!;
}

test('an export is what its requester sees, and others who see less get neither file nor figures', async () => {
  const name = 'seen';
  const ask = askerOf(name);
  const tenant = policedTenant(app, name);
  await tenant.send(
    { payload: { open: 1 } },
    { classification: 'Confidential', payload: { iban: 'DE1' } },
    { classification: 'Secret', payload: { code: 7 } },
  );
  const operator = await tenant.keyWith({ roles: ['Operator'], scopes: ['audit:export', 'audit:read'] });
  const low = await tenant.keyWith({ roles: ['Admin'], clearance: 'Internal' });
  const requestAs = async (key: string) => {
    const { body } = await ask<ExportReceipt>('POST', '/exports', { format: 'JSON' }, { key });
    return ended(ask, body.exportId, key);
  };
  const [whole, part] = [await requestAs(PLATFORM_KEY), await requestAs(low)];
  assert.deepEqual([whole.eventCount, part.eventCount], [3, 2]);
  const file = (await (await fetch(part.downloadUrl!)).json()) as AuditEvent[];
  const listed = await ask<List<AuditEvent>>('GET', '/audit-events?sort=timestamp', undefined, { key: low });
  const shown = new Map(listed.body.data.map((event) => [event.eventId, event]));
  assert.deepEqual(
    file,
    file.map(({ eventId }) => shown.get(eventId)),
  );
  assert.deepEqual(file[1]!.payload, {});

  const path = `/exports/${whole.exportId}`;
  const seenByLow = (await ask('GET', path, undefined, { key: low })).body;
  assert.deepEqual(
    [seenByLow.status, seenByLow.eventCount, seenByLow.downloadUrl, seenByLow.checksum],
    ['Completed', undefined, undefined, undefined],
  );
  assert.equal((await ask('GET', `${path}/download`, undefined, { key: low })).code, '404 EXPORT_NOT_FOUND');
  assert.equal((await ask('GET', `${path}/download`)).code, '200');
  assert.match((await ask('GET', path, undefined, { key: operator })).code, /^(200|403)/);
});

test('each request, each end and each download is a notice in the log', async () => {
  const ask = askerOf('noted');
  await policedTenant(app, 'noted').send({});
  const { exportId } = (await ask<ExportReceipt>('POST', '/exports')).body;
  const made = await ended(ask, exportId);
  assert.equal((await fetch(made.downloadUrl!)).status, 200);
  const notices = await ask<List<AuditEvent>>(
    'GET',
    `/audit-events?kind=Notice&resourceId=${exportId}&limit=10`,
  );
  assert.deepEqual(notices.body.data.map(({ action }) => action).toSorted(), [
    'Complete.Export',
    'Download.Export',
    'Request.Export',
  ]);
});

test('a request that is sent again with its key is the same export', async () => {
  const ask = askerOf('repeated');
  const send = (body: object) =>
    ask<ExportReceipt>('POST', '/exports', body, { headers: { 'Idempotency-Key': 'export-once-0001' } });
  const [first, again] = [await send({ format: 'CSV' }), await send({ format: 'CSV' })];
  assert.equal(again.body.exportId, first.body.exportId);
  assert.equal((await send({ format: 'XML' })).code, '409 IDEMPOTENCY_KEY_REUSED');
  assert.equal((await ask<List<Export>>('GET', '/exports')).body.data.length, 1);
});

test('so many exports run or wait, and one more is told when to come again', async () => {
  const ask = askerOf('full');
  await policedTenant(app, 'full').send({});
  const codes: string[] = [];
  let refused: Told | undefined;
  for (let i = 0; i < 40 && refused === undefined; i++) {
    const told = await ask('POST', '/exports', {});
    codes.push(told.code);
    if (told.status === 429) refused = told;
  }
  assert.equal(refused?.code, '429 EXPORT_QUEUE_FULL');
  assert.ok(Number(refused.headers.get('Retry-After')) >= 1);
  assert.ok(codes.length > 23, `${codes.length} requests`);
  const { data } = (await ask<List<Export>>('GET', '/exports?limit=100')).body;
  for (const { exportId } of data) assert.equal((await ask('DELETE', `/exports/${exportId}`)).code, '204');
  assert.deepEqual((await ask<List<Export>>('GET', '/exports')).body.data, []);
  assert.equal((await ask('POST', '/exports', {})).code, '202');
});

test('exports are listed newest first, by status and by time', async () => {
  const ask = askerOf('listed');
  await policedTenant(app, 'listed').send({});
  const ids: string[] = [];
  for (let i = 0; i < 3; i++) {
    const { exportId } = (await ask<ExportReceipt>('POST', '/exports', { name: `n${i}` })).body;
    await ended(ask, exportId);
    ids.push(exportId);
  }
  const listed = async (query: string) =>
    (await ask<List<Export>>('GET', `/exports${query}`)).body.data.map(({ exportId }) => exportId);
  assert.deepEqual(await listed(''), ids.toReversed());
  assert.deepEqual(await listed('?status=Completed&limit=2'), ids.toReversed().slice(0, 2));
  assert.deepEqual(await listed('?status=Failed'), []);
  const { requestedAt } = (await ask('GET', `/exports/${ids[1]}`)).body;
  assert.deepEqual(await listed(`?createdAfter=${requestedAt}`), [ids[2]]);
  assert.deepEqual(await listed('?status=Pending,Processing'), []);
  assert.deepEqual(await listed('?status=Processing'), []);
  const first = (await ask<List<Export>>('GET', '/exports?limit=2&status=Completed,Pending')).body;
  assert.equal(first.pagination.total, 3);
  const rest = (await ask<List<Export>>('GET', first.links.next!.replace('/api/v1', ''))).body;
  assert.deepEqual(
    rest.data.map(({ exportId }) => exportId),
    [ids[0]],
  );
  const back = (await ask<List<Export>>('GET', rest.links.previous!.replace('/api/v1', ''))).body;
  assert.deepEqual(
    back.data.map(({ exportId }) => exportId),
    ids.toReversed().slice(0, 2),
  );
  await ask('DELETE', `/exports/${ids[1]}`);
  assert.deepEqual(await listed(''), [ids[2], ids[0]]);
});

test('one that fails says why, is a dead letter, and is made when it is retried', async () => {
  const own = await startTestApp(WITH_PLATFORM_KEY);
  try {
    const ask = <T = Export>(method: string, path: string, body?: unknown) =>
      askOf<T>(own, method, `/api/v1${path}`, { key: PLATFORM_KEY, tenant: 'failed', body });
    await policedTenant(own, 'failed').send({});
    const folder = join(own.dataDirectory, 'exports');
    rmSync(folder, { recursive: true, force: true });
    writeFileSync(folder, 'no folder');
    const { exportId } = (await ask<ExportReceipt>('POST', '/exports')).body;
    const failed = await ended(ask, exportId);
    assert.deepEqual(
      [failed.status, failed.failureReason, failed.retriable, failed.downloadUrl],
      ['Failed', 'StorageError', true, undefined],
    );
    assert.equal((await ask('GET', `/exports/${exportId}/download`)).code, '409 EXPORT_NOT_READY');
    const letters = async () =>
      (await ask<List<DeadLetter>>('GET', '/admin/dead-letter-queue?source=Export')).body.data;
    await until(async () => (await letters()).length === 1);
    rmSync(folder);
    assert.equal((await ask('POST', `/exports/${exportId}/retry`)).code, '202');
    const made = await ended(ask, exportId);
    assert.deepEqual([made.status, made.eventCount], ['Completed', 1]);
    assert.deepEqual(await letters(), []);
    assert.equal((await ask('POST', `/exports/${exportId}/retry`)).code, '409 EXPORT_NOT_RETRIABLE');
    assert.equal(readdirSync(folder).length, 1);
  } finally {
    await own[Symbol.asyncDispose]();
  }
});

test('criteria that are not sound are refused, with their places', async () => {
  const ask = askerOf('criteria');
  const refused = async (body: object) => {
    const { code, text } = await ask('POST', '/exports', body);
    const { error } = JSON.parse(text) as { error: { details: { field: string }[] } };
    return [code, ...error.details.map(({ field }) => field)];
  };
  assert.deepEqual(await refused({ criteria: { query: 'a AND (' } }), [
    '422 VALIDATION_FAILED',
    'criteria.query',
  ]);
  assert.deepEqual(await refused({ criteria: {}, searchCriteria: {} }), [
    '422 VALIDATION_FAILED',
    'searchCriteria',
  ]);
  assert.deepEqual(await refused({ criteria: { sort: [{ field: 'relevance' }] } }), [
    '422 VALIDATION_FAILED',
    'criteria.sort[0].field',
  ]);
  assert.deepEqual(await refused({ contentColumns: ['payload.amount'] }), [
    '422 VALIDATION_FAILED',
    'contentColumns',
  ]);
  const columns = [
    'payload',
    'actor.userId',
    'payload.a[*]',
    'payload.a',
    'payload["a"]',
    'payload.',
    'context.b',
  ];
  assert.deepEqual(await refused({ format: 'CSV', contentColumns: columns }), [
    '422 VALIDATION_FAILED',
    ...[0, 1, 2, 4, 5].map((place) => `contentColumns[${place}]`),
  ]);
  const many = Array.from({ length: 50_000 }, () => 'payload');
  assert.deepEqual(await refused({ format: 'CSV', contentColumns: many }), [
    '422 VALIDATION_FAILED',
    'contentColumns',
  ]);
  assert.deepEqual(await refused({ format: 'CSV', contentColumns: [`payload.${'[0]'.repeat(200)}`] }), [
    '422 VALIDATION_FAILED',
    'contentColumns[0]',
  ]);
  assert.deepEqual((await refused({ includeProofs: true }))[0], '422 VALIDATION_FAILED');
  assert.deepEqual((await refused({ destination: { type: 'Ftp' } }))[0], '422 INVALID_DESTINATION');
});
