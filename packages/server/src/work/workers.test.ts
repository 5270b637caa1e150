// Workers on the real store: what they hold, what they save, and when they stop.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../runtime/clock.ts';
import { createSystemRandom } from '../runtime/random.ts';
import { nextId, STREAMS } from '../storage/conformance/claims.ts';
import { openSqliteStorage } from '../storage/sqlite/sqlite-storage.ts';
import type { Storage } from '../storage/storage.ts';
import type { ClaimRequest, Finished, Job } from './jobs.ts';
import { createWorkers, type KindOfWork, type WorkerParts } from './workers.ts';

const folder = mkdtempSync(join(tmpdir(), 'tallystick-workers-'));
after(() => rmSync(folder, { recursive: true }));
const random = createSystemRandom();

function open(directory = mkdtempSync(join(folder, 'data-'))): Promise<Storage> {
  const onFatal = (error: Error) => {
    throw error;
  };
  const options = { logOrigin: 'workers.test', streams: STREAMS, clock: systemClock, random, onFatal };
  return openSqliteStorage({ ...options, directory, threads: false, exclusive: true });
}

function workersOn(
  { work: store }: Storage,
  kind: Partial<KindOfWork> & Pick<KindOfWork, 'handle'>,
  more: Partial<WorkerParts> = {},
) {
  const whole: KindOfWork = { kind: 'Verification', atOnce: 5, perLane: 5, attemptsMax: 2, ...kind };
  const telemetry = { error() {}, warn() {} };
  const workers = createWorkers({ store, kinds: [whole], clock: systemClock, random, telemetry, ...more });
  workers.start();
  return workers;
}

async function enqueue({ work }: Storage, count = 1): Promise<string[]> {
  const ids = Array.from({ length: count }, () => nextId());
  for (const jobId of ids) await work.forTenant('acme').enqueue({ jobId, kind: 'Verification', body: '{}' });
  return ids;
}

async function until(what: () => Promise<boolean>): Promise<void> {
  for (let i = 0; i < 400; i++) {
    if (await what()) return;
    await sleep(10);
  }
  assert.fail('it does not come true');
}

const find = ({ work }: Storage, jobId: string): Promise<Job | undefined> =>
  work.forTenant('acme').find(jobId);
const KEPT = { status: 'Done', keepMs: 60_000 } as const;

test('jobs are done, so many at a time, and what came of them is saved', async () => {
  await using storage = await open();
  const ids = await enqueue(storage, 12);
  let underWay = 0;
  let most = 0;
  await using workers = workersOn(storage, {
    async handle({ jobId }) {
      most = Math.max(most, (underWay += 1));
      await sleep(5);
      underWay -= 1;
      return { ...KEPT, result: jobId };
    },
  });
  workers.wake('Verification');
  await until(async () => (await find(storage, ids.at(-1)!))?.state === 'Done');
  const done = await Promise.all(ids.map((id) => find(storage, id)));
  assert.deepEqual(
    done.map((job) => [job?.state, job?.result, job?.attempts]),
    ids.map((id) => ['Done', id, 1]),
  );
  assert.equal(most, 5);
});

test('a worker that is busy claims several jobs at once, and saves several outcomes in one commit', async () => {
  await using storage = await open();
  const ids = await enqueue(storage, 120);
  const { work } = storage;
  const counts = { claim: 0, finish: 0 };
  const store = {
    claim: (request: ClaimRequest) => ((counts.claim += 1), work.claim(request)),
    finish: (finished: readonly Finished[]) => ((counts.finish += 1), work.finish(finished)),
    renew: work.renew.bind(work),
    sweep: work.sweep.bind(work),
  };
  let done = 0;
  const handle = async () => {
    // Each ends at another moment.
    await sleep(1 + (done++ % 20));
    return KEPT;
  };
  await using _ = workersOn(storage, { atOnce: 20, perLane: 20, handle }, { store });
  await until(async () => (await find(storage, ids.at(-1)!))?.state === 'Done');
  assert.ok(counts.claim <= 30 && counts.finish <= 60, JSON.stringify(counts));
});

test('a job that fails is tried again, and is a dead letter after its last attempt', async () => {
  await using storage = await open();
  const [jobId] = await enqueue(storage);
  await using _ = workersOn(storage, {
    handle: () => Promise.reject(new Error('no answer')),
  });
  await until(async () => (await find(storage, jobId!))?.state === 'Dead');
  const job = await find(storage, jobId!);
  assert.deepEqual([job?.attempts, job?.reason], [2, 'no answer']);
});

test('a job that is due again soon does not wait for the pace of the worker', async () => {
  await using storage = await open();
  const [jobId] = await enqueue(storage);
  const startedMs = Date.now();
  await using _ = workersOn(storage, {
    attemptsMax: 10,
    handle: async ({ attempts }) =>
      attempts < 10 ? { status: 'Failed', reason: 'no answer', againInMs: 20 } : KEPT,
  });
  await until(async () => (await find(storage, jobId!))?.state === 'Done');
  assert.ok(Date.now() - startedMs < 3000, `it took ${Date.now() - startedMs} ms`);
});

test('a kind may say itself what becomes of a job that is out of attempts', async () => {
  await using storage = await open();
  const [jobId] = await enqueue(storage);
  await using _ = workersOn(storage, {
    attemptsMax: 1,
    handle: () => Promise.reject(new Error('no answer')),
    outOfAttempts: () => ({ ...KEPT, result: '"failed"' }),
  });
  await until(async () => (await find(storage, jobId!))?.result === '"failed"');
});

test('a job that takes longer than a lease stays held, and tells how far it is', async () => {
  await using storage = await open();
  const [jobId] = await enqueue(storage);
  const started: string[] = [];
  const handle: KindOfWork['handle'] = async (job, { progress }) => {
    started.push(job.jobId);
    for (let i = 1; i <= 12; i++) {
      await sleep(50);
      progress(String(i));
    }
    return KEPT;
  };
  const lease = { leaseMs: 150 };
  await using both = new AsyncDisposableStack();
  for (let i = 0; i < 2; i++) both.use(workersOn(storage, { handle }, lease));
  await until(async () => Number((await find(storage, jobId!))?.progress ?? 0) >= 4);
  await until(async () => (await find(storage, jobId!))?.state === 'Done');
  assert.deepEqual(started, [jobId]);
});

test('a handler whose lease is not renewed in time is told to stop before the next holder begins', async () => {
  await using storage = await open();
  const [jobId] = await enqueue(storage);
  const { work } = storage;
  const lease = { leaseMs: 3000 };
  let [claimedAt, stoppedAt] = [0, 0];
  const hanging: KindOfWork['handle'] = (_, { signal }) =>
    new Promise((_resolve, reject) => {
      claimedAt = Date.now();
      signal.addEventListener('abort', () => {
        stoppedAt = Date.now();
        reject(signal.reason as Error);
      });
    });
  {
    const renewal = Promise.withResolvers<never>();
    const store: WorkerParts['store'] = {
      claim: (request) => work.claim(request),
      finish: (finished) => work.finish(finished),
      sweep: () => work.sweep(),
      renew: () => renewal.promise,
    };
    await using _ = workersOn(storage, { handle: hanging }, { ...lease, store });
    await until(async () => stoppedAt > 0);
    renewal.reject(new Error('away'));
  }
  assert.ok(stoppedAt - claimedAt < lease.leaseMs, `it was told after ${stoppedAt - claimedAt} ms`);
  await using _ = workersOn(storage, { handle: async () => KEPT }, lease);
  await until(async () => (await find(storage, jobId!))?.state === 'Done');
});

test('what is under way when the service stops is done by the next one, and does not count as failed', async () => {
  const directory = mkdtempSync(join(folder, 'data-'));
  let jobId: string | undefined;
  {
    await using storage = await open(directory);
    [jobId] = await enqueue(storage);
    let isBegun = false;
    await using _ = workersOn(storage, {
      handle: (_, { signal }) =>
        new Promise((_resolve, reject) => {
          isBegun = true;
          signal.addEventListener('abort', () => reject(signal.reason as Error));
        }),
    });
    await until(async () => isBegun);
  }
  await using storage = await open(directory);
  await using _ = workersOn(storage, { handle: async () => KEPT });
  await until(async () => (await find(storage, jobId!))?.state === 'Done');
  assert.equal((await find(storage, jobId!))?.attempts, 1);
});

test('a job whose holders were killed again and again is given up', async () => {
  await using storage = await open();
  const [jobId] = await enqueue(storage);
  const claim = { kind: 'Verification', max: 1, perLane: 1, leaseMs: 0 } as const;
  for (let i = 0; i < 12; i++) {
    assert.equal((await storage.work.claim(claim)).length, 1);
    await sleep(2);
  }
  let handled = 0;
  await using _ = workersOn(storage, {
    async handle() {
      handled += 1;
      return KEPT;
    },
  });
  await until(async () => (await find(storage, jobId!))?.state === 'Dead');
  assert.equal(handled, 0);
  assert.match((await find(storage, jobId!))?.reason ?? '', /ended 10 times without a result/);
});

/** The store, but for what becomes of the first attempts to save outcomes. */
function failingToSave({ work }: Storage, fails: (ids: readonly string[]) => 'before' | 'after' | undefined) {
  const store: WorkerParts['store'] = {
    claim: (request) => work.claim(request),
    renew: (claims, leaseMs) => work.renew(claims, leaseMs),
    sweep: () => work.sweep(),
    async finish(finished) {
      const failure = fails(finished.map(({ jobId }) => jobId));
      if (failure === 'before') throw new Error('away');
      const held = await work.finish(finished);
      if (failure === 'after') throw new Error('the answer is lost');
      return held;
    },
  };
  return store;
}

test('an outcome that the store did not take, or did not say that it took, is saved a moment later', async () => {
  for (const failure of ['before', 'after'] as const) {
    await using storage = await open();
    const ids = await enqueue(storage, 20);
    let [failures, handled] = [4, 0];
    const store = failingToSave(storage, () => (failures-- > 0 ? failure : undefined));
    await using _ = workersOn(
      storage,
      {
        atOnce: 20,
        perLane: 20,
        async handle() {
          handled += 1;
          return KEPT;
        },
      },
      { store },
    );
    await until(async () => failures < 0);
    await until(async () =>
      (await Promise.all(ids.map((id) => find(storage, id)))).every((job) => job?.state === 'Done'),
    );
    assert.equal(handled, 20, failure);
  }
});

test('an outcome that can never be saved keeps no other one from being saved, and no service from stopping', async () => {
  await using storage = await open();
  const ids = await enqueue(storage, 20);
  const bad = ids[7]!;
  const store = failingToSave(storage, (saved) => (saved.includes(bad) ? 'before' : undefined));
  const startedMs = Date.now();
  {
    await using _ = workersOn(storage, { handle: async () => KEPT }, { store });
    await until(async () => {
      const jobs = await Promise.all(ids.map((id) => find(storage, id)));
      return jobs.every((job) => job?.jobId === bad || job?.state === 'Done');
    });
    assert.equal((await find(storage, bad))?.state, 'Held');
  }
  assert.ok(Date.now() - startedMs < 10_000, `it took ${Date.now() - startedMs} ms`);
});
