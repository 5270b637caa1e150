// Jobs whose holders are killed (P10): each is done in the end, and never by two at once.

import assert from 'node:assert/strict';
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../../packages/server/src/runtime/clock.ts';
import { createSystemRandom } from '../../packages/server/src/runtime/random.ts';
import { nextId, STREAMS } from '../../packages/server/src/storage/conformance/claims.ts';
import { Database } from '../../packages/server/src/storage/postgres/connection/database.ts';
import { migrate } from '../../packages/server/src/storage/postgres/schema/migrate.ts';
import { openPostgresStorage } from '../../packages/server/src/storage/postgres/postgres-storage.ts';
import { openSqliteStorage } from '../../packages/server/src/storage/sqlite/sqlite-storage.ts';
import type { Storage } from '../../packages/server/src/storage/storage.ts';
import { openDatabases } from '../../packages/server/src/testing/postgres-server.ts';
import { SIZE } from './size.ts';

const SCRIPT = join(import.meta.dirname, 'processes/job-worker.ts');
const KILLS = SIZE.isLong ? 300 : 3;
const JOBS_PER_KILL = 10;
const random = createSystemRandom();
const options = { logOrigin: 'jobs.test', streams: STREAMS, clock: systemClock, random };

/** When somebody worked at a job, by the clock of the machine. */
interface Span {
  readonly fromMs: number;
  untilMs: number;
}

type Told =
  | { readonly what: 'ready' }
  | { readonly what: 'begin' | 'end'; readonly jobId: string; readonly atMs: number };

interface Worker {
  readonly child: ChildProcess;
  /** The jobs that it has begun, by id. */
  readonly begun: ReadonlyMap<string, Span>;
}

/** All that workers have told of, also those that were killed. */
class Watch implements Disposable {
  readonly spans = new Map<string, Span[]>();
  readonly #children: ChildProcess[] = [];

  async start(place: string, env: Readonly<Record<string, string>> = {}): Promise<Worker> {
    const child = fork(SCRIPT, [place], {
      execArgv: ['--conditions=source'],
      env: { ...process.env, ...env },
    });
    this.#children.push(child);
    const begun = new Map<string, Span>();
    const ready = Promise.withResolvers<void>();
    child.on('message', (told: Told) => {
      if (told.what === 'ready') return ready.resolve();
      const { what, jobId, atMs } = told;
      if (what === 'end') begun.get(jobId)!.untilMs = atMs;
      else {
        const span = { fromMs: atMs, untilMs: Infinity };
        begun.set(jobId, span);
        this.spans.set(jobId, [...(this.spans.get(jobId) ?? []), span]);
      }
    });
    child.once('exit', () => {
      // The step that was cut short by the kill took no longer than this.
      const atMs = Number(process.hrtime.bigint()) / 1e6;
      for (const span of begun.values()) span.untilMs = Math.min(span.untilMs, atMs);
      ready.resolve();
    });
    await ready.promise;
    return { child, begun };
  }

  /** A test that fails leaves none running, which it would wait for. */
  [Symbol.dispose](): void {
    for (const child of this.#children) child.kill('SIGKILL');
  }

  assertSound(t: TestContext): void {
    const again = [...this.spans.values()].filter((spans) => spans.length > 1).length;
    t.diagnostic(`${this.spans.size} jobs, ${again} of them begun more than once`);
    assert.deepEqual(this.overlaps(), []);
    assert.ok(again > 0, 'no kill has met a job');
  }

  /** Jobs that two worked at in one moment. */
  overlaps(): string[] {
    return [...this.spans].flatMap(([jobId, spans]) => {
      const sorted = spans.toSorted((a, b) => a.fromMs - b.fromMs);
      return sorted.some((span, i) => i > 0 && span.fromMs < sorted[i - 1]!.untilMs) ? [jobId] : [];
    });
  }
}

async function kill({ child }: Worker): Promise<void> {
  const gone = once(child, 'exit');
  child.kill('SIGKILL');
  await gone;
}

/** Kills one of them while it works at a job, and returns its place. */
async function killAtWork(workers: readonly Worker[]): Promise<number> {
  for (let i = 0; i < 1000; i++) {
    const place = workers.findIndex(isAtWork);
    if (place >= 0) {
      await sleep(random.fraction() * 50);
      await kill(workers[place]!);
      return place;
    }
    await sleep(10);
  }
  throw new Error('no worker has begun a job for ten seconds');
}

function isAtWork({ begun }: Worker): boolean {
  return [...begun.values()].some(({ untilMs }) => untilMs === Infinity);
}

async function enqueue({ work }: Storage, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, () => nextId());
  const adding = ids.map((jobId, i) =>
    work.forTenant(`tenant${i % 5}`).enqueue({ jobId, kind: 'Verification', body: '{}' }),
  );
  await Promise.all(adding);
  return ids;
}

async function notDone({ work }: Storage, ids: readonly string[]): Promise<string[]> {
  const found = await Promise.all(ids.map((jobId, i) => work.forTenant(`tenant${i % 5}`).find(jobId)));
  return ids.filter((_, i) => found[i]?.state !== 'Done');
}

async function untilDone(storage: Storage, ids: readonly string[]): Promise<void> {
  for (let i = 0; i < 600; i++) {
    if ((await notDone(storage, ids)).length === 0) return;
    await sleep(100);
  }
  assert.deepEqual(await notDone(storage, ids), []);
}

describe('jobs whose holders are killed', () => {
  it(`${KILLS} times on PostgreSQL, with three nodes: each is done, and never by two at once`, async (t) => {
    await using server = await openDatabases();
    const url = await server.createDatabase();
    await using owner = new Database({ url, connectionsMax: 1 });
    await migrate(owner, 'postgres');
    await using storage = await openPostgresStorage({ ...options, url, mayMigrate: false });
    using watch = new Watch();
    const nodes = await Promise.all([1, 2, 3].map(() => watch.start(url)));
    const ids: string[] = [];
    for (let i = 0; i < KILLS; i++) {
      // So many for every kill, since the others go on working while one starts again.
      ids.push(...(await enqueue(storage, JOBS_PER_KILL)));
      const place = await killAtWork(nodes);
      nodes[place] = await watch.start(url);
      nodes.push(nodes.shift()!);
    }
    await untilDone(storage, ids);
    for (const node of nodes) await kill(node);
    watch.assertSound(t);
  });

  it(`${KILLS} times on SQLite: each is done, and never by two at once`, async (t) => {
    const directory = mkdtempSync(join(tmpdir(), 'tallystick-jobs-'));
    const open = (exclusive: boolean) =>
      openSqliteStorage({ ...options, directory, threads: false, exclusive, onFatal: assert.fail });
    try {
      const ids = await (async () => {
        await using storage = await open(true);
        return await enqueue(storage, KILLS * JOBS_PER_KILL);
      })();
      using watch = new Watch();
      let worker = await watch.start(directory);
      for (let i = 0; i < KILLS; i++) {
        await killAtWork([worker]);
        worker = await watch.start(directory);
      }
      await using storage = await open(false);
      await untilDone(storage, ids);
      await kill(worker);
      watch.assertSound(t);
    } finally {
      rmSync(directory, { recursive: true });
    }
  });

  it('control: without leases that are kept, two work at one job, and it is seen', async () => {
    await using server = await openDatabases();
    const url = await server.createDatabase();
    await using owner = new Database({ url, connectionsMax: 1 });
    await migrate(owner, 'postgres');
    await using storage = await openPostgresStorage({ ...options, url, mayMigrate: false });
    using watch = new Watch();
    const nodes = await Promise.all([1, 2].map(() => watch.start(url, { WORK_UNFENCED: '1' })));
    await enqueue(storage, 8);
    for (let i = 0; i < 100 && watch.overlaps().length === 0; i++) await sleep(50);
    for (const node of nodes) await kill(node);
    assert.ok(watch.overlaps().length > 0);
  });
});
