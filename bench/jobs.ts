// How many jobs a second go through the store: enqueued by a follower, claimed and ended in batches, each batch a durable commit.
// One tenant has a hundred times as many as each of a thousand others: how long those wait is measured, too.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../packages/server/src/runtime/clock.ts';
import { createUlids } from '../packages/server/src/runtime/ids.ts';
import { createSystemRandom } from '../packages/server/src/runtime/random.ts';
import { openPostgresStorage } from '../packages/server/src/storage/postgres/postgres-storage.ts';
import { openSqliteStorage } from '../packages/server/src/storage/sqlite/sqlite-storage.ts';
import type { Storage } from '../packages/server/src/storage/storage.ts';
import type { NewJob } from '../packages/server/src/work/jobs.ts';
import { POSTGRES } from './backends.ts';
import type { Benchmark, Row } from './measure.ts';

const random = createSystemRandom();
const nextId = createUlids(systemClock, random);
const BATCH = 500;
const TENANTS = 1000;
const LARGE = 100_000;
const SMALL = 10;
const CLAIM = { kind: 'Verification', max: BATCH, perLane: 1_000_000, leaseMs: 60_000 } as const;
const OPTIONS = {
  logOrigin: 'bench',
  streams: { sealAfter: { ms: 86_400_000 }, sealAfterEvents: 1_000_000 },
  clock: systemClock,
  random,
};

export const benchmark: Benchmark = {
  name: 'jobs',
  title: `jobs in batches of ${BATCH}, of ${TENANTS} tenants with ${SMALL} each and one with ${LARGE}`,
  async run() {
    const directory = mkdtempSync(join(tmpdir(), 'tallystick-bench-'));
    try {
      const onFatal = (error: Error) => {
        throw error;
      };
      await using storage = await openSqliteStorage({
        ...OPTIONS,
        directory,
        threads: true,
        exclusive: true,
        onFatal,
      });
      return await measure(storage, 'goal: at least 5,000 a second');
    } finally {
      rmSync(directory, { recursive: true });
    }
  },
};

export const onPostgres: Benchmark = {
  name: 'jobs-postgres',
  title: benchmark.title,
  async run() {
    await using backend = await POSTGRES.open();
    await using storage = await openPostgresStorage({ ...OPTIONS, url: backend.postgres!.url });
    return await measure(storage);
  },
};

async function measure(storage: Storage, goal?: string): Promise<Row[]> {
  const { work } = storage;
  await storage.follows.begin('bench', 'Beginning');
  const enqueued = await perSecond(async () => {
    for (let i = 0; i < LARGE; i += BATCH) await enqueue(storage, 'large', i, BATCH);
    for (let i = 0; i < TENANTS; i++) await enqueue(storage, `small-${i}`, 0, SMALL);
    return LARGE + TENANTS * SMALL;
  });
  // How many are claimed until the last of the small tenants' jobs is: fair is when each of a round has its share.
  let lastSmall = 0;
  let claimed = 0;
  const done = await perSecond(async () => {
    for (;;) {
      const claims = await work.claim(CLAIM);
      if (claims.length === 0) return claimed;
      for (const [i, { job }] of claims.entries()) if (job.tenant !== 'large') lastSmall = claimed + i + 1;
      claimed += claims.length;
      await work.finish(
        claims.map(({ job: { tenant, jobId }, token }) => ({
          tenant,
          jobId,
          token,
          outcome: { status: 'Done' },
        })),
      );
    }
  });
  const fair = (TENANTS + 1) * SMALL;
  return [
    { name: 'enqueued by a follower', figure: `${Math.round(enqueued)} a second` },
    { name: 'claimed and done', figure: `${Math.round(done)} a second`, ...(goal && { goal }) },
    {
      name: 'claims until the last job of a small tenant',
      figure: String(lastSmall),
      against: 'a share for each in every round',
      ratio: lastSmall / fair,
    },
  ];
}

async function enqueue({ follows }: Storage, tenant: string, from: number, count: number): Promise<void> {
  const jobs = Array.from(
    { length: count },
    (): NewJob => ({ tenant, jobId: nextId(), kind: 'Verification', body: '{"delivery":"of some event"}' }),
  );
  await follows.advance('bench', [{ tenant, nextIndex: from, endIndex: from + count, jobs }]);
}

async function perSecond(work: () => Promise<number>): Promise<number> {
  const start = process.hrtime.bigint();
  const units = await work();
  return units / (Number(process.hrtime.bigint() - start) / 1e9);
}
