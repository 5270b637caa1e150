// Exports and deliveries whose jobs end without a result, on a real store.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type AccessStore, openAccessStore } from '../testing/access-store.ts';
import { createSystemRandom } from '../runtime/random.ts';
import type { Job } from '../work/jobs.ts';
import { createWorkers } from '../work/workers.ts';
import { putExport } from './export-changes.ts';
import type { DeliveryRecord } from './export-delivery.ts';
import { deliveryWork, type DeliveryWorkParts } from './delivery-work.ts';
import { exportWork, type ExportWorkParts } from './export-work.ts';
import type { ExportRecord } from './export.ts';

const TENANT = 'acme';
const noteNothing = () => {};

let store: AccessStore;
before(async () => {
  store = await openAccessStore();
  await store.access.tenants.ensure(TENANT, store.clock.now());
});
after(() => store[Symbol.asyncDispose]());

async function exported(more: Partial<ExportRecord> = {}): Promise<ExportRecord> {
  const { access, clock, nextId, random } = store;
  const record: ExportRecord = {
    exportId: nextId(),
    tenantId: TENANT,
    version: 1,
    state: 'Pending',
    name: undefined,
    criteria: {},
    format: 'JSON',
    contentColumns: [],
    compression: 'None',
    includeProofs: false,
    destination: { type: 'Download' },
    schedule: undefined,
    requestedAtMs: clock.now(),
    requestedBy: 'key:1',
    reader: { identity: 'key:1', roles: ['Admin'], clearance: 'Secret' },
    snapshot: { noticeId: nextId(), policies: [], holdIds: [] },
    jobId: nextId(),
    fileKey: '',
    completed: undefined,
    failed: undefined,
    deliveries: [],
    ...more,
  };
  const told = { requestId: nextId(), correlationId: random.uuid() };
  assert.ok(await putExport({ record, act: 'Requested', ...told }, access.change));
  return record;
}

const parts = () => {
  const { access, clock, nextId, random } = store;
  const telemetry = { warn: noteNothing, error: noteNothing, altered: noteNothing };
  const files = { clean: async () => {} };
  const { exports, tenants, change } = access;
  return { exports, tenants, change, clock, nextId, uuid: () => random.uuid(), telemetry, files };
};

/** Claimed as often as this and never ended: each holder was killed. */
async function killed(kind: 'Export' | 'ExportDelivery', jobId: string, lane: string, times: number) {
  const jobs = store.storage.work;
  await jobs.forTenant(TENANT).enqueue({ jobId, kind, lane, body: '{}' });
  for (let i = 0; i < times; i++) {
    const claims = await jobs.claim({ kind, max: 1, perLane: 1, leaseMs: 0 });
    assert.equal(claims.length, 1);
    await store.clock.advance(1);
  }
}

const jobNow = (jobId: string): Promise<Job | undefined> => store.storage.work.forTenant(TENANT).find(jobId);

async function worked(kind: ReturnType<typeof exportWork>, jobId: string): Promise<Job | undefined> {
  const { storage, clock } = store;
  const telemetry = {
    warn: noteNothing,
    error: (what: string, error?: unknown) => assert.fail(`${what}: ${String(error)}`),
  };
  await using workers = createWorkers({
    store: storage.work,
    kinds: [kind],
    clock,
    random: createSystemRandom(),
    telemetry,
  });
  workers.start();
  for (let i = 0; i < 10_000 && (await jobNow(jobId))?.state !== 'Dead'; i++) await clock.advance(100);
  return jobNow(jobId);
}

test('an export whose processes were killed again and again is Failed, told of, and may be retried', async () => {
  const record = await exported();
  await killed('Export', record.jobId, record.exportId, 16);
  const told: ExportRecord[] = [];
  const onEnd = async (ended: ExportRecord) => void told.push(ended);
  const work = exportWork({ ...parts(), onEnd } as unknown as ExportWorkParts);
  const job = await worked(work, record.jobId);
  assert.match(job?.reason ?? '', /^Internal: It was begun several times/);
  const ended = (await store.access.exports.find(TENANT, record.exportId))!;
  assert.deepEqual([ended.state, ended.failed?.isRetriable], ['Failed', true]);
  assert.deepEqual(
    told.map(({ exportId, state }) => [exportId, state]),
    [[record.exportId, 'Failed']],
  );
});

test('a delivery whose processes were killed again and again is Failed', async () => {
  const deliveryId = store.nextId();
  const delivery = { deliveryId, destination: { type: 'Sftp' }, requestedBy: 'key:1', box: '' };
  const file = { expiresAtMs: store.clock.now() + 1e9, fileSize: 10, runId: 'run', eventCount: 1 };
  const record = await exported({
    state: 'Completed',
    completed: file as unknown as ExportRecord['completed'],
    deliveries: [delivery as unknown as DeliveryRecord],
  });
  await killed('ExportDelivery', deliveryId, record.exportId, 21);
  const work = deliveryWork(parts() as unknown as DeliveryWorkParts);
  const job = await worked(work, deliveryId);
  assert.match(job?.reason ?? '', /^Internal: it was begun several times/);
  const ended = (await store.access.exports.find(TENANT, record.exportId))!;
  assert.equal(ended.deliveries[0]?.ended?.status, 'Failed');
});

test('one tenant cannot have all that a node makes or sends at once', () => {
  for (const work of [exportWork({} as ExportWorkParts), deliveryWork({} as DeliveryWorkParts)]) {
    const { perTenant } = work.limits!();
    assert.ok(work.atOnce >= 2 * perTenant!, work.kind);
  }
});
