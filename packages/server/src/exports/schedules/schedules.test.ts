// Schedules through the whole service, with a clock that leaps from hour to hour: files to S3, each of which goes on where the one before
// it ends and names it.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { AuditEvent, Export, List, Schedule } from '@tallystick/contract';
import {
  type ChainedFile,
  EvidenceError,
  noteVerifier,
  verifyChain,
  verifyExport,
} from '@tallystick/evidence';
import { checkStore } from '../../check-store.ts';
import { type Clock, systemClock } from '../../runtime/clock.ts';
import { PLATFORM_KEY, WITH_PLATFORM_KEY } from '../../testing/admin-caller.ts';
import { ask as askOf, type Told } from '../../testing/ask.ts';
import { S3Server } from '../../testing/s3-server.ts';
import { startTestApp, type TestApp } from '../../testing/test-app.ts';
import { until } from '../../testing/until.ts';
import { unzipped } from '../../testing/unzipped.ts';
import { nextRunAfter } from './schedule.ts';

const HOUR_MS = 3_600_000;
const SETTINGS = {
  ...WITH_PLATFORM_KEY,
  Environment: 'Test',
  Exports__AllowPrivateTargets: 'true',
  Log__CheckpointInterval: 'PT0.05S',
};

let aheadMs = 0;
const clock: Clock = {
  ...systemClock,
  now: () => systemClock.now() + aheadMs,
  monotonicNs: () => systemClock.monotonicNs() + aheadMs * 1e6,
};
/** To the next hour. The job of a run waits from the moment on when it is in the store of jobs: a look for any job puts it there. */
async function leap(): Promise<void> {
  await askerOf('any')('GET', `/admin/operations/${'0'.repeat(26)}`);
  aheadMs += HOUR_MS;
}

let app: TestApp;
let s3: S3Server;
before(async () => {
  s3 = await S3Server.start(() => clock.now());
  app = await startTestApp(SETTINGS, { clock });
});
after(async () => {
  await app?.[Symbol.asyncDispose]();
  await s3?.[Symbol.asyncDispose]();
});

type Asker = <T = Schedule>(
  method: string,
  path: string,
  body?: unknown,
  headers?: Record<string, string>,
) => Promise<Told<T>>;

const askerOf =
  (tenant: string): Asker =>
  (method, path, body, headers = {}) =>
    askOf(app, method, `/api/v1${path}`, { key: PLATFORM_KEY, tenant, body, headers });

async function send(ask: Asker, ...names: string[]): Promise<void> {
  const events = names.map((resourceId) => ({
    timestamp: new Date(clock.now()).toISOString(),
    actor: { actorType: 'User', userId: 'u-1' },
    action: 'Update.Invoice',
    resource: { resourceType: 'Invoice', resourceId },
  }));
  assert.equal((await ask('POST', '/audit-events/batch', { events })).code, '201');
}

const wanted = (more: object = {}) => ({
  name: 'hourly',
  every: 'Hour',
  format: 'NDJSON',
  criteria: { filters: { kinds: ['Event', 'Notice'] } },
  destination: s3.destination(),
  ...more,
});

const seen = async (ask: Asker, scheduleId: string) =>
  (await ask('GET', `/export-schedules/${scheduleId}`)).body;

/** Once the file of this number is at its destination. */
async function delivered(ask: Asker, scheduleId: string, number: number): Promise<Schedule> {
  let shown: Schedule | undefined;
  await until(async () => {
    shown = await seen(ask, scheduleId);
    const { lastRun } = shown;
    if (lastRun?.number !== number || lastRun.status !== 'Completed') return false;
    const { body } = await ask<Export>('GET', `/exports/${lastRun.exportId}`);
    return body.deliveries?.at(-1)?.status === 'Delivered';
  });
  return shown!;
}

/** The files of a tenant at the destination, verified. */
async function verified(
  ask: Asker,
  tenant: string,
): Promise<(ChainedFile & { readonly rows: AuditEvent[] })[]> {
  const key = (await ask('GET', `/log/t/${tenant}/key`)).text.trim();
  const verifiers = [await noteVerifier(key)];
  const files = [...s3.objects].filter(([name]) => name.includes(`audit-${tenant}-`));
  return Promise.all(
    files.map(async ([name, bytes]) => {
      const texts = unzipped(bytes);
      const archive = {
        names: [...texts.keys()],
        async *entry(entry: string) {
          yield Buffer.from(texts.get(entry)!);
        },
      };
      const { manifest } = await verifyExport(archive, { verifiers });
      const lines = texts.get('events.ndjson')!.split('\n').slice(0, -1);
      const sha256 = createHash('sha256').update(texts.get('manifest.json')!).digest('hex');
      return { name, manifest, sha256, rows: lines.map((line) => JSON.parse(line) as AuditEvent) };
    }),
  );
}

test('each file goes on where the one before it ends, and one that is missing shows', async () => {
  const ask = askerOf('chained');
  await send(ask, 'one', 'two');
  const made = await ask('POST', '/export-schedules', wanted());
  assert.equal(made.code, '201');
  assert.match(made.headers.get('location') ?? '', /\/export-schedules\/[0-9A-Z]{26}$/);
  const { scheduleId, nextRunAt, lastRun } = made.body;
  assert.deepEqual([Date.parse(nextRunAt!) % HOUR_MS, lastRun], [0, undefined]);
  assert.ok(!made.text.includes('secretAccessKey') && !made.text.includes('a secret/of'));
  for (let number = 1; number <= 3; number++) {
    await leap();
    const { lastRun: run } = await delivered(ask, scheduleId, number);
    assert.match(run!.manifest!, /^[0-9a-f]{64}$/);
    await send(ask, `behind ${number}`);
  }
  const files = await verified(ask, 'chained');
  const verdict = verifyChain(files);
  assert.deepEqual(
    [verdict.scheduleId, verdict.first, verdict.last, verdict.fromSequence, verdict.complete],
    [scheduleId, 1, 3, 1, true],
  );
  const sequences = files
    .flatMap(({ rows }) => rows.map(({ sequence }) => sequence))
    .toSorted((a, b) => a - b);
  assert.deepEqual(
    sequences,
    Array.from({ length: verdict.toSequence }, (_, i) => i + 1),
    'every entry is in one file, and in no other',
  );
  const third = (await seen(ask, scheduleId)).lastRun!;
  const { body: shown } = await ask<Export>('GET', `/exports/${third.exportId}`);
  assert.deepEqual(shown.schedule, { scheduleId, number: 3 });
  const [, second] = files.toSorted((a, b) => a.manifest.schedule!.number - b.manifest.schedule!.number);
  assert.throws(
    () => verifyChain(files.filter((file) => file !== second)),
    (error) =>
      error instanceof EvidenceError &&
      error.reason === 'CHAIN_BROKEN' &&
      /file 2 is missing/.test(error.message),
  );
  await ask('DELETE', `/export-schedules/${scheduleId}`);
});

test('a filter is kept over the files, and a paused schedule leaves nothing out', async () => {
  const ask = askerOf('paused');
  await send(ask, 'a', 'b');
  const { body } = await ask(
    'POST',
    '/export-schedules',
    wanted({ criteria: { query: 'invoice' }, fromSequence: 2 }),
  );
  const path = `/export-schedules/${body.scheduleId}`;
  await leap();
  await delivered(ask, body.scheduleId, 1);
  const { destination: _, ...whole } = await seen(ask, body.scheduleId);
  const once = { 'Idempotency-Key': 'put-back' };
  const putBack = await ask('PUT', path, whole, once);
  assert.deepEqual([putBack.code, putBack.body.lastRun], ['200', whole.lastRun]);
  const other = { ...whole, criteria: {}, format: 'XML' };
  const refused = await ask('PUT', path, other);
  assert.equal(refused.code, '422 VALIDATION_FAILED');
  assert.match(refused.text, /"field":"criteria".*"field":"format"/);
  const paused = await ask('PUT', path, { active: false, name: 'renamed' });
  assert.deepEqual([paused.code, paused.body.active, paused.body.name], ['200', false, 'renamed']);
  assert.equal(paused.body.nextRunAt, undefined);
  await send(ask, 'c');
  await leap();
  await send(ask, 'd');
  assert.equal((await seen(ask, body.scheduleId)).lastRun!.number, 1);
  assert.equal((await ask('PUT', path, { active: true })).body.active, true);
  await leap();
  await delivered(ask, body.scheduleId, 2);
  assert.deepEqual((await ask('PUT', path, whole, once)).body, putBack.body, 'as it stood then');
  const files = await verified(ask, 'paused');
  verifyChain(files);
  const names = files.flatMap(({ rows }) => rows.map(({ resource }) => resource.resourceId)).toSorted();
  assert.deepEqual(names, ['b', 'c', 'd']);
  await ask('DELETE', path);
});

test('a file that could not be made is made again under its number', async () => {
  const ask = askerOf('failing');
  await send(ask, 'a');
  const { body } = await ask('POST', '/export-schedules', wanted());
  const folder = join(app.dataDirectory, 'exports');
  rmSync(folder, { recursive: true, force: true });
  writeFileSync(folder, 'no folder');
  await leap();
  let failed: Schedule | undefined;
  await until(async () => {
    failed = await seen(ask, body.scheduleId);
    return failed.lastRun?.status === 'Failed';
  });
  rmSync(folder);
  await send(ask, 'b');
  await leap();
  const again = await delivered(ask, body.scheduleId, 1);
  assert.equal(again.lastRun!.exportId, failed!.lastRun!.exportId);
  const files = await verified(ask, 'failing');
  assert.equal(files.length, 1);
  const names = files[0]!.rows
    .filter(({ kind }) => kind === 'Event')
    .map(({ resource }) => resource.resourceId);
  assert.deepEqual(names, ['a', 'b']);
  await ask('DELETE', `/exports/${again.lastRun!.exportId}`);
  await leap();
  await delivered(ask, body.scheduleId, 2);
  verifyChain(await verified(ask, 'failing'));
  await ask('DELETE', `/export-schedules/${body.scheduleId}`);
});

test('what is not sound is refused, and changes are told in the log', async () => {
  const ask = askerOf('rules');
  await send(ask, 'a');
  const refused = async (body: object) => {
    const { code, text } = await ask('POST', '/export-schedules', body);
    const { error } = JSON.parse(text) as { error: { details: { field: string }[] } };
    return [code, ...error.details.map(({ field }) => field)];
  };
  assert.deepEqual(await refused({ name: 'x', every: 'Week' }), [
    '422 VALIDATION_FAILED',
    'destination',
    'every',
  ]);
  assert.deepEqual(await refused(wanted({ criteria: { sort: [{ field: 'timestamp' }] } })), [
    '422 VALIDATION_FAILED',
    'criteria.sort',
  ]);
  assert.deepEqual(await refused(wanted({ includeProofs: false })), [
    '422 VALIDATION_FAILED',
    'includeProofs',
  ]);
  assert.equal(
    (await refused(wanted({ destination: s3.destination({ bucket: 'A' }) })))[0],
    '422 INVALID_DESTINATION',
  );
  assert.deepEqual(await refused(wanted({ contentColumns: ['payload.a'] })), [
    '422 VALIDATION_FAILED',
    'contentColumns',
  ]);
  assert.deepEqual(await refused(wanted({ fromSequence: 1_000_000 })), [
    '422 VALIDATION_FAILED',
    'fromSequence',
  ]);
  const once = { 'Idempotency-Key': 'schedule-once-01' };
  const made = await ask('POST', '/export-schedules', wanted(), once);
  const again = await ask('POST', '/export-schedules', wanted(), once);
  assert.deepEqual([made.code, again.code, again.body.scheduleId], ['201', '200', made.body.scheduleId]);
  assert.equal((await ask('POST', '/export-schedules', wanted())).code, '409 DUPLICATE_NAME');
  const path = `/export-schedules/${made.body.scheduleId}`;
  assert.equal(
    (await ask('PUT', path, { every: 'Day' }, { 'If-Match': '"7"' })).code,
    '409 VERSION_CONFLICT',
  );
  const etag = made.headers.get('etag')!;
  const changed = await ask('PUT', path, { every: 'Day' }, { 'If-Match': etag });
  assert.deepEqual([changed.code, changed.body.every], ['200', 'Day']);
  assert.deepEqual((await ask<List<Schedule>>('GET', '/export-schedules')).body.data, [changed.body]);
  assert.equal((await askerOf('other')('GET', path)).code, '404 SCHEDULE_NOT_FOUND');
  assert.equal((await ask('DELETE', path)).code, '204');
  assert.equal((await ask('GET', path)).code, '404 SCHEDULE_NOT_FOUND');
  assert.deepEqual((await ask<List<Schedule>>('GET', '/export-schedules')).body.data, []);
  const { body } = await ask<List<AuditEvent>>(
    'GET',
    '/audit-events?kind=Notice&resourceType=ExportSchedule&sort=timestamp',
  );
  assert.deepEqual(body.data.map(({ action }) => action).toSorted(), [
    'Create.ExportSchedule',
    'Delete.ExportSchedule',
    'Update.ExportSchedule',
  ]);
  for (let i = 0; i < 20; i++)
    assert.equal(
      (await ask('POST', '/export-schedules', wanted({ name: `n${i}`, active: false }))).code,
      '201',
    );
  const { code, text } = await ask('POST', '/export-schedules', wanted({ name: 'more' }));
  assert.equal(code, '422 VALIDATION_FAILED');
  assert.match(text, /The tenant has 20 schedules; the limit is 20/);
});

test('a run is at the beginning of the next hour, day or month', () => {
  const at = (text: string) => Date.parse(text);
  const cases: [Schedule['every'], string, string][] = [
    ['Hour', '2026-01-31T23:59:59.999Z', '2026-02-01T00:00:00Z'],
    ['Hour', '2026-01-31T10:00:00Z', '2026-01-31T11:00:00Z'],
    ['Day', '2026-02-28T12:00:00Z', '2026-03-01T00:00:00Z'],
    ['Month', '2026-01-31T12:00:00Z', '2026-02-01T00:00:00Z'],
    ['Month', '2026-12-01T00:00:00Z', '2027-01-01T00:00:00Z'],
  ];
  for (const [every, now, next] of cases)
    assert.equal(nextRunAfter(every, at(now)), at(next), `${every} ${now}`);
});

test('the store verifies with all of this in it', async () => {
  for (const tenant of ['chained', 'failing', 'rules']) {
    const request = { keys: [], seen: [], tenant, isWithoutIndex: true };
    assert.deepEqual((await checkStore(app.dataDirectory, request)).faults, []);
  }
});
