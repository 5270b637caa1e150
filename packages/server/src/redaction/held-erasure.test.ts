// An erasure that waits for holds costs nothing until they change, and never runs out of attempts.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encodeEntry } from '@tallystick/evidence';
import type { StoredEvent } from '../streams/log.ts';
import type { Job } from '../work/jobs.ts';
import type { ErasureRecord } from './erasure.ts';
import { hashesOf } from './subject.ts';
import { erasureWork, type ErasureWorkParts } from './erasure-work.ts';

const TENANT = 'acme';
const JOB = {
  tenant: TENANT,
  jobId: '01KE0000000000000000000042',
  kind: 'Erasure',
  body: JSON.stringify({ subject: { key: '', userId: 'x' } }),
} as Job;
const RECORD = {
  erasureId: JOB.jobId,
  tenantId: TENANT,
  version: 2,
  state: 'Processing',
  isOfAll: false,
  correlationId: '7d3f0c52-6a3e-4b51-9a0e-2f6b1f3c9d11',
  counts: { matched: 1, erased: 0, settled: 0, held: 1, firstHeld: 0, end: 10 },
} as unknown as ErasureRecord;

test('a log is not read again while the same holds keep the events', async () => {
  let [reads, forgotten, holdsAsOf, isAltered] = [0, 0, '1', true];
  const parts = {
    erasures: { find: async () => RECORD },
    tenants: { find: async () => ({ holdsAsOf, isAltered }) },
    trees: { forTenant: () => ({ head: async () => ({ firstIndex: 0 }) }) },
    log: { forTenant: () => ({ events: async () => (reads++, []), event: async () => ({ index: 10 }) }) },
    index: { forTenant: () => ({ forget: async () => void forgotten++ }) },
    removal: { eraseTraces: async () => void forgotten++ },
    change: async () => ({ status: 'Done', records: [] }),
    clock: { now: () => 0, monotonicNs: () => 0 },
    nextId: () => '01KE0000000000000000000043',
    uuid: () => '7d3f0c52-6a3e-4b51-9a0e-2f6b1f3c9d11',
  };
  const work = erasureWork(parts as unknown as ErasureWorkParts);
  const run = (progress?: string) =>
    work.handle({ ...JOB, progress }, { signal: new AbortController().signal, progress: () => {} });
  const next = { tenant: TENANT, jobId: JOB.jobId, kind: 'Erasure', body: JOB.body, dueInMs: 60_000 };
  // This walk was saved at its end, and has left one.
  const saved = JSON.stringify({ version: 2, next: 10, counts: RECORD.counts });
  assert.deepEqual(await run(saved), { status: 'Done', jobs: [next] }, 'no failed attempt');
  isAltered = false;
  assert.deepEqual(await run(saved), { status: 'Done', jobs: [next] });
  assert.deepEqual(await run(), { status: 'Done', jobs: [next] }, 'it does not begin again');
  assert.deepEqual([reads, forgotten], [0, 0]);
  holdsAsOf = '2';
  // The log of the test has nothing that is still held.
  assert.deepEqual(await run(), { status: 'Done' });
  assert.deepEqual([reads, forgotten], [1, 0]);
});

/** As the reader of a log gives it. */
function eventAt(index: number, userId: string): StoredEvent {
  const facts = JSON.stringify({ classification: 'Internal', actor: { userId }, resource: {} });
  const entry = encodeEntry({
    kind: 1,
    index,
    receivedAtMs: 0,
    eventId: '01KE0000000000000000000044',
    previous: new Uint8Array(32),
    content: new Uint8Array(32),
  });
  return {
    index,
    entry,
    classification: 'Internal',
    content: { texts: [facts, '{}'] },
  } as unknown as StoredEvent;
}

test('that events stay which are of a log before a restore is told at the end, whichever walk has met them', async () => {
  const subject = hashesOf({ userId: 'x' }, { bytes: (count) => new Uint8Array(count) });
  const tenantRecord = { tenantId: TENANT, holdsAsOf: '1', holds: [], policies: [] };
  const walked = async (counts: object | undefined, progress: string | undefined) => {
    const record = { ...RECORD, counts };
    const [saved, ended]: [string[], ErasureRecord[]] = [[], []];
    const parts = {
      erasures: { find: async () => record },
      tenants: { find: async () => tenantRecord },
      trees: { forTenant: () => ({ head: async () => ({ firstIndex: 1 }) }) },
      log: {
        forTenant: () => ({
          events: async (from: number) =>
            [0, 1].filter((at) => at >= from).map((at) => eventAt(at, at === 0 ? 'x' : 'y')),
          event: async () => ({ index: 2 }),
        }),
      },
      index: { forTenant: () => ({ forget: async () => {} }) },
      removal: { eraseTraces: async () => {} },
      removeFiles: async () => {},
      forgetAnswers: async () => {},
      change: async ({ writes: [write] }: { writes: { content: unknown }[] }) => {
        ended.push(write!.content as ErasureRecord);
        return { status: 'Done', records: [] };
      },
      clock: { now: () => 0, monotonicNs: () => 0 },
      nextId: () => '01KE0000000000000000000043',
    };
    await erasureWork(parts as unknown as ErasureWorkParts).handle(
      { ...JOB, body: JSON.stringify({ subject }), progress },
      { signal: new AbortController().signal, progress: (text) => void saved.push(text) },
    );
    return { saved: saved.at(-1), ended: ended.at(-1)! };
  };
  const whole = await walked(undefined, undefined);
  assert.deepEqual([whole.ended.state, whole.ended.counts?.matched], ['Failed', 1]);
  assert.match(whole.ended.failureReason!, /ended with a restore/);
  const resumed = await walked(undefined, whole.saved);
  assert.equal(resumed.ended.state, 'Failed', 'a job that was killed in between goes on');
  const later = await walked({ ...whole.ended.counts, held: 1, firstHeld: 1 }, undefined);
  assert.equal(later.ended.state, 'Failed', 'a hold has ended that kept a later event');
});
