// Runs of schedules on a real store: what a crash, or another node, makes of them.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createSecretBoxes } from '../../keys/secret-box.ts';
import { type AccessStore, openAccessStore } from '../../testing/access-store.ts';
import type { Job, JobOutcome } from '../../work/jobs.ts';
import type { Holding } from '../../work/workers.ts';
import { createDestinations } from '../destinations.ts';
import { createExportKeys } from '../export-keys.ts';
import type { ExportTargets } from '../export-target.ts';
import type { ExportRecord } from '../export.ts';
import { putExport } from '../export-changes.ts';
import { putSchedule } from './schedule-changes.ts';
import { scheduleWork } from './schedule-work.ts';
import { nextRunAfter, SCHEDULE_WORK, type ScheduleRecord } from './schedule.ts';

const HOUR_MS = 3_600_000;
const TENANT = 'acme';
const SECRET_KEY_ID = '01KE0000000000000000000001';
const BUCKET = {
  type: 'ObjectStorage',
  provider: 'S3',
  region: 'eu-central-1',
  bucket: 'audit-files',
  accessKeyId: 'AKIA',
  secretAccessKey: 'secret',
} as const;

let store: AccessStore;
before(async () => {
  store = await openAccessStore();
  await store.access.tenants.ensure(TENANT, store.clock.now());
});
after(() => store[Symbol.asyncDispose]());

const all = { way: 'Rising', beyond: undefined, limit: 100 } as const;

async function scheduled(name: string) {
  const { access, clock, random, nextId } = store;
  const { schedules, exports, tenants, change } = access;
  // The store of this test has no keyring.
  const key = { keyId: SECRET_KEY_ID, key: new Uint8Array(32).fill(9) };
  const boxes = createSecretBoxes({ current: async () => key, find: async () => key }, random);
  // Nothing is sent here.
  const destinations = createDestinations({} as ExportTargets, boxes);
  const keys = createExportKeys(boxes, random);
  const uuid = () => random.uuid();
  let wakes = 0;
  const parts = { schedules, exports, tenants, destinations, keys, change, clock, nextId, uuid };
  const work = scheduleWork({ ...parts, telemetry: { info: () => {} }, wakeExports: () => void wakes++ });
  const scheduleId = nextId();
  const record: ScheduleRecord = {
    scheduleId,
    tenantId: TENANT,
    version: 1,
    state: 'Active',
    uniqueName: name,
    every: 'Hour',
    criteria: {},
    format: 'JSON',
    contentColumns: [],
    destination: { type: 'ObjectStorage', provider: 'S3', region: 'eu-central-1', bucket: 'audit-files' },
    box: await destinations.seal({ tenantId: TENANT, scheduleId }, BUCKET),
    fromIndex: 0,
    reader: { identity: 'x', roles: ['Admin'], clearance: 'Secret' },
    createdAtMs: clock.now(),
    createdBy: 'key:x',
    updatedAtMs: clock.now(),
    nextRunAtMs: nextRunAfter('Hour', clock.now()),
    jobId: nextId(),
    last: undefined,
  };
  const told = { requestId: nextId(), correlationId: uuid() };
  assert.ok(await putSchedule({ record, act: 'Created', ...told }, change));
  const now = async () => (await schedules.find(TENANT, scheduleId))!;
  const handle = (jobId: string): Promise<JobOutcome> =>
    work.handle({ tenant: TENANT, lane: scheduleId, jobId, kind: SCHEDULE_WORK } as Job, {} as Holding);
  const made = async (): Promise<ExportRecord[]> => {
    const states = ['Pending', 'Completed', 'Failed'].map((state) => exports.pageInState(TENANT, state, all));
    return (await Promise.all(states)).flat().filter((each) => each.schedule?.scheduleId === scheduleId);
  };
  const put = async (next: ExportRecord, act: 'Completed' | 'Failed') =>
    assert.ok(await putExport({ record: { ...next, version: next.version + 1 }, act, ...told }, change));
  return { record, now, handle, made, put, wakes: () => wakes };
}

test('a run is not made before its time, and one whose job is done again asks for no second export', async () => {
  const { record, now, handle, made, wakes } = await scheduled('again');
  const early = await handle(record.jobId);
  assert.deepEqual([early.status, (await made()).length], ['PutOff', 0]);
  await store.clock.leap(HOUR_MS);
  for (let i = 0; i < 3; i++) assert.deepEqual(await handle(record.jobId), { status: 'Done' });
  const [one, ...others] = await made();
  assert.deepEqual([one!.schedule!.number, one!.schedule!.previous, others.length, wakes()], [1, null, 0, 1]);
  const { last, nextRunAtMs, jobId, version } = await now();
  assert.deepEqual(last, { number: 1, exportId: one!.exportId });
  assert.deepEqual([nextRunAtMs, version], [nextRunAfter('Hour', store.clock.now()), 2]);
  assert.notEqual(jobId, record.jobId);
});

test('of nodes that run it at once one asks for the export, and the others fail and try again', async () => {
  const { record, handle, made } = await scheduled('together');
  await store.clock.leap(HOUR_MS);
  const runs = await Promise.allSettled([handle(record.jobId), handle(record.jobId), handle(record.jobId)]);
  assert.ok(runs.some(({ status }) => status === 'fulfilled'));
  assert.equal((await made()).length, 1);
  assert.deepEqual(await handle(record.jobId), { status: 'Done' });
  assert.equal((await made()).length, 1);
});

test('the next file waits for the one before it, and a failed one is made again in its place', async () => {
  const { now, handle, made, put } = await scheduled('waiting');
  const next = async () => {
    await store.clock.leap(HOUR_MS);
    return handle((await now()).jobId);
  };
  await next();
  assert.equal((await next()).status, 'PutOff', 'it is still being made');
  const [first] = await made();
  const failed = { startedAtMs: 1, atMs: 2, reason: 'StorageFull', details: '', isRetriable: true } as const;
  await put({ ...first!, state: 'Failed', failed }, 'Failed');
  assert.deepEqual(await next(), { status: 'Done' });
  const [again, ...none] = await made();
  assert.deepEqual([again!.exportId, again!.state, none.length], [first!.exportId, 'Pending', 0]);
  assert.notEqual(again!.snapshot.noticeId, first!.snapshot.noticeId, 'with what has come since');
  const schedule = { ...again!.schedule!, made: { manifest: 'ab'.repeat(32), endIndex: 7 } };
  await put({ ...again!, state: 'Completed', schedule }, 'Completed');
  await next();
  const second = (await made()).find(({ state }) => state === 'Pending');
  assert.deepEqual(second!.schedule, {
    scheduleId: schedule.scheduleId,
    number: 2,
    previous: 'ab'.repeat(32),
    fromIndex: 7,
  });
});
