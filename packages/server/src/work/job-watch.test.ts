// What health knows of jobs that make no progress: real workers on a real store, under a clock that the test moves.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { createSystemRandom } from '../runtime/random.ts';
import { nextId, STREAMS } from '../storage/conformance/claims.ts';
import { openSqliteStorage } from '../storage/sqlite/sqlite-storage.ts';
import { createFakeClock } from '../testing/fake-clock.ts';
import { until } from '../testing/until.ts';
import { watchJobs } from './job-watch.ts';
import { createWorkers, type Holding } from './workers.ts';

const folder = mkdtempSync(join(tmpdir(), 'tallystick-jobs-'));
after(() => rmSync(folder, { recursive: true }));
const random = createSystemRandom();
const MINUTE_MS = 60_000;

test('a job under way without progress, and one that nobody begins, are told of in the part that they belong to', async () => {
  const clock = createFakeClock(Date.now());
  const onFatal = assert.fail;
  const options = { logOrigin: 'jobs.test', streams: STREAMS, clock, random, onFatal, directory: folder };
  await using storage = await openSqliteStorage({ ...options, threads: false, exclusive: true });
  const lines: object[] = [];
  const note = (message: string, facts?: object) => void lines.push({ message, ...facts });
  const telemetry = { error: assert.fail, warn: note, info: note };
  const { promise: underWay, resolve: begun } = Promise.withResolvers<Holding>();
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  const handle = async (_: unknown, holding: Holding) => {
    begun(holding);
    await ended;
    return { status: 'Done' } as const;
  };
  const common = { atOnce: 1, perLane: 1, attemptsMax: 1 };
  await using workers = createWorkers({
    store: storage.work,
    kinds: [{ ...common, kind: 'Export', handle, leaseMs: 100 * MINUTE_MS }],
    clock,
    random,
    telemetry,
  });
  const watch = watchJobs({
    workers: { quietest: () => workers.quietest(), kinds: ['Export', 'Rebuild'] },
    work: storage.work,
    silenceMsMax: 30 * MINUTE_MS,
    clock,
    telemetry,
  });
  const told = async () => {
    await watch.measure();
    const textsOf = (name: 'exports' | 'views') =>
      watch
        .ofCheck(name)
        .findings()
        .map(({ description }) => description);
    assert.deepEqual(watch.ofCheck('webhooks').findings(), []);
    return { exports: textsOf('exports').join(), views: textsOf('views').join() };
  };

  const jobs = storage.work.forTenant('acme');
  const jobId = nextId();
  await jobs.enqueue({ jobId, kind: 'Export', body: '{}' });
  workers.start();
  await until(async () => {
    await clock.advance(1000);
    return workers.quietest().length > 0;
  });
  const holding = await underWay;
  await clock.leap(20 * MINUTE_MS);
  holding.progress('1');
  await clock.leap(20 * MINUTE_MS);
  assert.deepEqual(await told(), { exports: '', views: '' }, 'it has told of progress since');
  holding.progress('1');
  await clock.leap(11 * MINUTE_MS);
  assert.match((await told()).exports, /^A background job has made no progress for more than 1800 s: /);
  assert.equal(watch.stuckKinds(), 1);
  assert.deepEqual(lines.at(-1), {
    message: 'a job is under way without progress',
    kind: 'Export',
    tenant: 'acme',
    jobId,
  });

  await jobs.enqueue({ jobId: nextId(), kind: 'Rebuild', body: '{}' });
  end();
  await until(() => workers.quietest().length === 0);
  await clock.leap(31 * MINUTE_MS);
  const { exports, views } = await told();
  assert.equal(exports, '');
  assert.match(views, /^Background jobs have been due for more than 1800 s and are not begun: /);
});
