import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { LegalHold } from '@tallystick/contract';
import { systemClock } from '../runtime/clock.ts';
import type { Storage } from '../storage/storage.ts';
import { append, draftOf, NOW_MS, request } from '../storage/conformance/claims.ts';
import type { TenantLog } from '../streams/log.ts';
import { WITH_PLATFORM_KEY } from '../testing/admin-caller.ts';
import { openPlainStore } from '../testing/plain-store.ts';
import { policedTenant } from '../testing/policed-tenant.ts';
import { startTestApp } from '../testing/test-app.ts';
import { until } from '../testing/until.ts';
import type { Job, JobOutcome, NewJob } from '../work/jobs.ts';
import type { HoldRecord } from './hold.ts';
import { countJob, heldEvents, holdCountWork } from './hold-count.ts';

const folder = mkdtempSync(join(tmpdir(), 'tallystick-hold-count-'));
let storage: Storage;
before(async () => {
  storage = await openPlainStore(mkdtempSync(join(folder, 'plain-')));
});
after(async () => {
  await storage?.[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

const EVENT = {
  timestamp: '2026-01-01T00:00:00.000Z',
  actor: { actorType: 'System' },
  resource: { resourceType: 'Invoice', resourceId: '1' },
  classification: 'Internal',
};

/** Every third one is a deletion. */
async function fill(tenant: string, count: number): Promise<void> {
  await storage.tenants.ensure(tenant, NOW_MS);
  const drafts = Array.from({ length: count }, (_, i) =>
    draftOf({ ...EVENT, action: i % 3 === 0 ? 'Delete.Invoice' : 'Read.Invoice' }),
  );
  assert.equal((await append(storage, request(tenant, drafts))).status, 'Done');
}

function holdOf(tenantId: string, more: Partial<HoldRecord> = {}): HoldRecord {
  const facts = {
    name: 'n',
    reason: 'r',
    createdAtMs: 0,
    createdBy: 'key',
    range: undefined,
    release: undefined,
  };
  const conditions = { action: 'Delete.Invoice' };
  return {
    ...facts,
    holdId: `01KE000000000000000000000${tenantId.length}`,
    tenantId,
    version: 1,
    status: 'Active',
    conditions,
    ...more,
  };
}

/** Counts the entries that were read. */
function counting() {
  let read = 0;
  const forTenant = (tenant: string) =>
    ({
      events: async (...asked: Parameters<TenantLog['events']>) => {
        const events = await storage.log.forTenant(tenant).events(...asked);
        read += events.length;
        return events;
      },
    }) as TenantLog;
  return { parts: { log: { forTenant }, clock: systemClock }, taken: () => [read, (read = 0)][0]! };
}

const jobOf = ({ tenantId: tenant, holdId }: HoldRecord, more: Partial<Job> = {}) =>
  ({ ...countJob(holdId), tenant, progress: undefined, ...more }) as Job;

function nextOf(outcome: JobOutcome): NewJob {
  const [next, ...others] = outcome.status === 'Done' ? (outcome.jobs ?? []) : [];
  assert.ok(next !== undefined && others.length === 0, outcome.status);
  return next;
}

const countedBy = ({ body }: Pick<NewJob, 'body'>) => (JSON.parse(body) as { heldEvents: number }).heldEvents;
const going = { signal: new AbortController().signal, progress: () => {} };

test('a count goes on from where it was: after a stop, and when the log has grown', async () => {
  await fill('stopped', 1500);
  const hold = holdOf('stopped');
  const { parts, taken } = counting();
  const work = holdCountWork({ ...parts, holds: { find: async () => hold } });
  const stop = new AbortController();
  let progress: string | undefined;
  let portions = 0;
  const stopping = {
    signal: stop.signal,
    progress: (text: string) => {
      progress = text;
      if (++portions === 2) stop.abort();
    },
  };
  await assert.rejects(work.handle(jobOf(hold), stopping));
  assert.equal(taken(), 1500);
  const first = nextOf(await work.handle(jobOf(hold, { progress }), going));
  assert.deepEqual([countedBy(first), first.jobId, first.kind], [500, hold.holdId, 'HoldCount']);
  assert.ok(taken() <= 502, 'the rest, its seal, and the last one that was known');
  await fill('stopped', 30);
  const second = nextOf(await work.handle(jobOf(hold, { body: first.body }), going));
  assert.deepEqual([countedBy(second), taken()], [510, 31]);
  const dues = [first.dueInMs, second.dueInMs];
  let last = second;
  for (let i = 0; i < 7; i++) {
    last = nextOf(await work.handle(jobOf(hold, { body: last.body }), going));
    dues.push(last.dueInMs);
  }
  const minutes = dues.map((dueInMs) => dueInMs! / 60_000);
  assert.deepEqual(minutes, [1, 1, 2, 4, 8, 16, 32, 60, 60], 'less and less often, while nothing comes');
  const failed = await work.outOfAttempts!(jobOf(hold, { body: second.body }));
  assert.equal(countedBy(nextOf(failed)), 510, 'what fails again and again is tried again later');
});

test('a job ends with its hold', async () => {
  const { parts } = counting();
  for (const hold of [undefined, holdOf('ended', { status: 'Released' })]) {
    const work = holdCountWork({ ...parts, holds: { find: async () => hold } });
    assert.deepEqual(await work.handle(jobOf(holdOf('ended')), going), { status: 'Done' });
  }
});

test('a range is counted without a look at the rest of the log', async () => {
  await fill('range', 300);
  const { parts, taken } = counting();
  const countOf = async (range: HoldRecord['range']) => {
    const hold = holdOf('range', { range, conditions: undefined });
    const work = holdCountWork({ ...parts, holds: { find: async () => hold } });
    return countedBy(nextOf(await work.handle(jobOf(hold), going)));
  };
  assert.deepEqual([await countOf({ fromSequence: 11, toSequence: 20 }), taken()], [10, 10]);
  assert.deepEqual([await countOf({ fromSequence: 300, toSequence: 300 }), taken()], [1, 1]);
  assert.deepEqual([await countOf({ fromSequence: 301, toSequence: 400 }), taken()], [0, 0]);
});

test('of a log that is another one, as after a restore, it is counted anew', async () => {
  await fill('restored', 60);
  const { parts } = counting();
  const hold = holdOf('restored');
  const work = holdCountWork({ ...parts, holds: { find: async () => hold } });
  for (const state of [
    { nextIndex: 40, heldEvents: 77, leaf: 'ab'.repeat(32), isWhole: true },
    { nextIndex: 4000, heldEvents: 77, leaf: 'ab'.repeat(32), isWhole: true },
    { nextIndex: -1, heldEvents: 'many' },
  ]) {
    const next = nextOf(await work.handle(jobOf(hold, { body: JSON.stringify(state) }), going));
    assert.equal(countedBy(next), 20, JSON.stringify(state));
  }
});

test('a request counts a small rest itself, tells no number of a part, and asks for a job that is missing', async () => {
  await fill('asked', 300);
  const { parts } = counting();
  const hold = holdOf('asked');
  let [wakes, enqueued] = [0, 0];
  const work = (job: Job | undefined) => ({
    forTenant: (tenant: string) => ({
      ...storage.work.forTenant(tenant),
      find: async () => job,
      enqueue: async () => {
        enqueued++;
        return { status: 'Enqueued', job: job! } as const;
      },
    }),
  });
  const asked = (job: Job | undefined, max?: number) =>
    heldEvents(hold, { ...parts, work: work(job), wakeHoldCount: () => wakes++ }, max);
  assert.equal(await asked(jobOf(hold)), 100);
  assert.deepEqual([wakes, enqueued], [0, 0]);
  assert.equal(await asked(undefined), 100);
  assert.deepEqual([wakes, enqueued], [1, 1]);
  assert.equal(await asked(jobOf(hold), 299), undefined, 'the end was not reached');
  assert.equal(
    await heldEvents(
      { ...hold, status: 'Released' },
      { ...parts, work: work(undefined), wakeHoldCount: assert.fail },
    ),
    undefined,
  );
});

test('a log that no request counts is counted by the job, exactly, also over a restart', async () => {
  const settings = { Storage__DataDirectory: join(folder, 'served'), ...WITH_PLATFORM_KEY };
  let path = '';
  {
    await using app = await startTestApp(settings);
    const tenant = policedTenant(app, 'large');
    for (let i = 0; i < 3; i++)
      await tenant.send(
        ...Array.from({ length: 1000 }, (_, n) => ({ action: n % 4 === 0 ? 'Delete.Order' : 'Read.Order' })),
      );
    const body = { name: 'n', reason: 'r', conditions: { action: 'Delete.Order' } };
    const { holdId } = await tenant.ask<LegalHold>('POST', '/legal-holds', body);
    path = `/legal-holds/${holdId}`;
  }
  await using app = await startTestApp(settings);
  const tenant = policedTenant(app, 'large');
  const count = async () => (await tenant.ask<LegalHold>('GET', path)).heldEvents;
  await until(async () => (await count()) !== undefined);
  assert.equal(await count(), 750);
  await tenant.send(...Array.from({ length: 5 }, () => ({ action: 'Delete.Order' })));
  assert.equal(await count(), 755);
});
