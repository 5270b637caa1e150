// Exports through the whole service: requested, followed, downloaded, listed, deleted.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import type { AuditEvent, CompletedExport, Export, ExportReceipt, List } from '@tallystick/contract';
import { checkStore } from '../check-store.ts';
import { PLATFORM_KEY, WITH_PLATFORM_KEY } from '../testing/admin-caller.ts';
import { ask as askOf, type Told } from '../testing/ask.ts';
import { Consumer } from '../testing/consumer.ts';
import { startTestApp, type TestApp } from '../testing/test-app.ts';
import { until } from '../testing/until.ts';

let app: TestApp;
before(async () => {
  app = await startTestApp({
    ...WITH_PLATFORM_KEY,
    Environment: 'Test',
    Webhooks__AllowPrivateTargets: 'true',
  });
});
after(() => app[Symbol.asyncDispose]());

const EXPORTS = '/exports';

type Asker = <T = Export>(method: string, path: string, body?: unknown) => Promise<Told<T>>;

const askerOf =
  (tenant: string): Asker =>
  (method, path, body) =>
    askOf(app, method, `/api/v1${path}`, { key: PLATFORM_KEY, tenant, body });

async function withEvents(tenant: string, count: number): Promise<Asker> {
  const ask = askerOf(tenant);
  const events = Array.from({ length: count }, (_, i) => ({
    timestamp: new Date(Date.UTC(2026, 0, 1, 0, 0, i)).toISOString(),
    actor: { actorType: 'User', userId: `u-${i % 3}`, userName: 'ana@acme.test' },
    action: i % 2 === 0 ? 'Update.Invoice' : 'Delete.Invoice',
    resource: { resourceType: 'Invoice', resourceId: `I-${i}` },
    payload: { number: i, note: `=SUM(A1) "quoted", ${i}` },
  }));
  assert.equal((await ask('POST', '/audit-events/batch', { events })).code, '201');
  return ask;
}

async function completed(ask: Asker, request: object = {}): Promise<Export> {
  const { code, body } = await ask<ExportReceipt>('POST', EXPORTS, request);
  assert.equal(code, '202');
  let seen: Export | undefined;
  await until(async () => {
    seen = (await ask('GET', `${EXPORTS}/${body.exportId}`)).body;
    return seen.status === 'Completed' || seen.status === 'Failed';
  });
  assert.equal(seen!.status, 'Completed', JSON.stringify(seen));
  return seen!;
}

async function fileOf({ downloadUrl }: Export): Promise<Buffer> {
  const response = await fetch(downloadUrl!);
  assert.equal(response.status, 200);
  return Buffer.from(await response.arrayBuffer());
}

test('an export of everything is what the list shows, in the order of the log', async () => {
  const ask = await withEvents('all', 25);
  const made = await completed(ask);
  const bytes = await fileOf(made);
  assert.equal(made.checksum, `sha256:${createHash('sha256').update(bytes).digest('hex')}`);
  assert.equal(made.fileSize, bytes.length);
  assert.equal(made.eventCount, 25);
  assert.deepEqual(made.progress, { percent: 100, processedEvents: 25, totalEvents: 25 });
  const listed = await ask<List<AuditEvent>>('GET', '/audit-events?limit=100');
  const inOrder = listed.body.data.toSorted((a, b) => a.sequence - b.sequence);
  assert.deepEqual(JSON.parse(String(bytes)), inOrder);
});

test('an export with criteria has what a search finds', async () => {
  const ask = await withEvents('criteria', 40);
  const filters = { actions: ['Delete.Invoice'], actorIds: ['u-1'] };
  const made = await completed(ask, { criteria: { filters, query: 'quoted' }, format: 'NDJSON' });
  const found = await ask<{ results: AuditEvent[] }>('POST', '/audit-events/search', {
    query: 'quoted',
    filters,
    pagination: { limit: 100 },
  });
  const expected = found.body.results.map(({ eventId }) => eventId).toSorted();
  const lines = String(await fileOf(made))
    .trimEnd()
    .split('\n');
  const ids = lines.map((line) => (JSON.parse(line) as AuditEvent).eventId);
  assert.ok(expected.length > 3);
  assert.deepEqual(ids.toSorted(), expected);
});

test('gzip and zip hold the same text', async () => {
  const ask = await withEvents('packed', 30);
  const plain = await fileOf(await completed(ask, { format: 'CSV' }));
  const gzip = await fileOf(await completed(ask, { format: 'CSV', compression: 'Gzip' }));
  assert.deepEqual(gunzipSync(gzip), plain);
});

test('a part of the file is sent, and the rest goes on from there', async () => {
  const ask = await withEvents('ranges', 10);
  const made = await completed(ask, { format: 'XML' });
  const whole = await fileOf(made);
  const part = await fetch(made.downloadUrl!, { headers: { Range: 'bytes=100-199' } });
  assert.equal(part.status, 206);
  assert.equal(part.headers.get('Content-Range'), `bytes 100-199/${whole.length}`);
  assert.deepEqual(Buffer.from(await part.arrayBuffer()), whole.subarray(100, 200));
});

test('a link is refused alike whatever was altered, and that of a deleted export is of nothing', async () => {
  const ask = await withEvents('links', 3);
  const made = await completed(ask);
  await withEvents('links-suspended', 1);
  const suspended = { status: 'Suspended' };
  assert.equal((await ask('PUT', '/admin/tenants/links-suspended', suspended)).code, '200');
  const link = new URL(made.downloadUrl!);
  const anyId = '01JAAAAAAAAAAAAAAAAAAAAAAA';
  const [expires, signature] = [link.searchParams.get('expires')!, link.searchParams.get('signature')!];
  const answerTo = async (altered: Readonly<Record<string, string>>, exportId = made.exportId) => {
    const url = new URL(link.href.replace(made.exportId, exportId));
    for (const [name, value] of Object.entries(altered)) url.searchParams.set(name, value);
    const response = await fetch(url);
    const { error } = (await response.json()) as { error: { code: string; message: string } };
    return `${response.status} ${error.code} ${error.message}`;
  };
  const refusals = [
    await answerTo({ expires: String(Number(expires) + 60) }),
    await answerTo({ expires: 'soon' }),
    await answerTo({ signature: signature.replace(/^./, signature.startsWith('A') ? 'B' : 'A') }),
    await answerTo({ signature: '' }),
    await answerTo({}, anyId),
    await answerTo({ tenant: 'links-suspended' }),
    await answerTo({ tenant: 'links-suspended' }, anyId),
    await answerTo({ tenant: 'nobody' }),
    await answerTo({ tenant: 'nobody' }, anyId),
    await answerTo({ tenant: '../links' }),
  ];
  for (const refusal of refusals) assert.equal(refusal, refusals[0]);
  assert.match(refusals[0]!, /^403 SIGNED_URL_INVALID /);
  assert.equal((await ask('DELETE', `${EXPORTS}/${made.exportId}`)).code, '204');
  assert.equal((await ask('GET', `${EXPORTS}/${made.exportId}`)).code, '404 EXPORT_NOT_FOUND');
  assert.match(await answerTo({}), /^404 EXPORT_NOT_FOUND /);
  assert.equal(await answerTo({ expires: '1' }), refusals[0], 'nobody learns that it is deleted');
  assert.deepEqual(
    readdirSync(join(app.dataDirectory, 'exports')).filter((name) => name.includes(made.exportId)),
    [],
  );
});

test('nothing of the events lies in the file as it is kept', async () => {
  const ask = await withEvents('sealed', 3);
  const made = await completed(ask);
  const folder = join(app.dataDirectory, 'exports');
  const [name] = readdirSync(folder).filter((each) => each.includes(made.exportId));
  assert.ok(!readFileSync(join(folder, name!)).includes('Update.Invoice'));
});

test('subscribers are told when an export has ended, with a link', async () => {
  const ask = await withEvents('told', 4);
  await using consumer = await Consumer.start();
  const subscription = { name: 'exports', url: consumer.url, eventTypes: ['ExportCompleted'] };
  assert.equal((await ask('POST', '/webhooks/subscriptions', subscription)).code, '201');
  const made = await completed(ask);
  const [got] = await consumer.gotMany(1);
  const { webhookType, export: told } = got!.body as { webhookType: string; export: CompletedExport };
  assert.equal(webhookType, 'export.completed');
  assert.equal(told.exportId, made.exportId);
  assert.equal(told.eventCount, 4);
  assert.equal((await fetch(told.downloadUrl!)).status, 200);
});

test('a verification holds the records of exports against the notices of their changes', async () => {
  const ask = await withEvents('verified', 3);
  await completed(ask);
  const gone = await completed(ask);
  assert.equal((await ask('DELETE', `${EXPORTS}/${gone.exportId}`)).code, '204');
  const request = { keys: [], seen: [], tenant: 'verified', isWithoutIndex: true };
  assert.deepEqual((await checkStore(app.dataDirectory, request)).faults, []);
});
