// The backends that a service keeps its data on, for tests that hold of each of them: how to start upon one, and how to read
// its log without any code of the service.

import { copyFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { systemClock } from '../../packages/server/src/runtime/clock.ts';
import { createSystemRandom } from '../../packages/server/src/runtime/random.ts';
import { boundLog } from '../../packages/server/src/storage/event-index/testing/bound-ports.ts';
import { SegmentMaker } from '../../packages/server/src/storage/event-index/store/segment-maker.ts';
import { indexAt } from '../../packages/server/src/storage/postgres/event-index/testing/index-backend.ts';
import { createMigrated } from '../../packages/server/src/testing/migrated-database.ts';
import { openDatabases } from '../../packages/server/src/testing/postgres-server.ts';
import { until } from '../../packages/server/src/testing/until.ts';
import { type EventInLog, readLog } from './read-log.ts';
import { readPostgresLog } from './read-postgres-log.ts';
import { type Start, temporaryFolder } from './running.ts';

/** A copy of the store as it was, without what is kept apart from it: anchor, keyring, signing keys. */
export interface StoreCopy {
  /** The service must not run. */
  putBack(): Promise<void>;
}

export interface Backend extends AsyncDisposable {
  readonly start: Start & { readonly env: Readonly<Record<string, string>> };
  readonly readLog: () => Promise<Map<string, EventInLog[]>>;
  /** Until nothing is under way any more that a killed service has asked for. */
  untilAlone?(): Promise<void>;
  /** As if the time had passed for which a killed service holds its jobs. */
  endLeases?(): Promise<void>;
  /** The service must not run. */
  copy(): Promise<StoreCopy>;
  /** Throws away what is made from the log; the service must not run. */
  forgetViews(): Promise<void>;
  /** Takes one event out of what is made from the log; the service must not run. */
  damageViews?(tenant: string): Promise<void>;
}

/** What reads the log here has no code of the service, and no keys. */
const PLAIN = { Encryption__Classifications: 'None' };

async function openSqlite(): Promise<Backend> {
  const folder = temporaryFolder();
  const dataDirectory = join(folder.path, 'data');
  const remove = (file: string) => {
    for (const end of ['', '-wal', '-shm']) rmSync(join(dataDirectory, `${file}${end}`), { force: true });
  };
  let copies = 0;
  return Promise.resolve({
    start: { dataDirectory, env: PLAIN },
    readLog: () => Promise.resolve(readLog(dataDirectory)),
    copy() {
      const file = join(dataDirectory, 'journal.db');
      const copied = join(folder.path, `copy-${++copies}.db`);
      copyFileSync(file, copied);
      const putBack = () => {
        for (const name of ['journal.db', 'views.db']) remove(name);
        copyFileSync(copied, file);
        return Promise.resolve();
      };
      return Promise.resolve({ putBack });
    },
    forgetViews() {
      remove('views.db');
      return Promise.resolve();
    },
    [Symbol.asyncDispose]: () => Promise.resolve(folder[Symbol.dispose]()),
  });
}

const UNDER_WAY = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
  AND state <> 'idle'`;

async function asOwner(url: string, sql: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

const HAS_JOBS = "SELECT 1 FROM pg_tables WHERE schemaname = 'tallystick' AND tablename = 'jobs'";

async function openPostgres(): Promise<Backend> {
  await using parts = new AsyncDisposableStack();
  const folder = parts.use(temporaryFolder());
  const server = parts.use(await openDatabases());
  const url = await createMigrated(server);
  const run = async (sql: string) => {
    const client = new Client({ connectionString: url });
    await client.connect();
    try {
      await client.query('SET search_path = tallystick');
      return (await client.query<Record<string, unknown>>(sql)).rows;
    } finally {
      await client.end();
    }
  };
  const opened = parts.move();
  return {
    start: { dataDirectory: join(folder.path, 'data'), env: { ...PLAIN, Storage__Url: url } },
    readLog: () => readPostgresLog(url),
    untilAlone: () => until(async () => (await run(UNDER_WAY)).length === 0),
    async copy() {
      const name = new URL(url).pathname.slice(1);
      const copied = new URL(await server.createDatabase(url)).pathname.slice(1);
      return {
        async putBack() {
          await asOwner(server.url(), `DROP DATABASE ${name} WITH (FORCE)`);
          await asOwner(server.url(), `CREATE DATABASE ${name} TEMPLATE ${copied}`);
        },
      };
    },
    async endLeases() {
      if ((await run(HAS_JOBS)).length > 0) await run("UPDATE jobs SET wake_ms = 0 WHERE state = 'Held'");
    },
    async forgetViews() {
      await run('TRUNCATE index_manifests, index_blocks');
    },
    damageViews: (tenant) => makeSegmentWithoutLast(url, tenant),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

export const BACKENDS: Readonly<Record<'SQLite' | 'PostgreSQL', () => Promise<Backend>>> = {
  SQLite: openSqlite,
  PostgreSQL: openPostgres,
};

/** As somebody could who has the right to write segments: one of all events of a tenant, in which the last is missing. */
async function makeSegmentWithoutLast(url: string, tenant: string): Promise<void> {
  await using backend = await indexAt(url);
  const { store, log } = backend.making;
  const events = await log.head(tenant);
  const maker = new SegmentMaker({
    store,
    log: {
      ...boundLog(log, async (...asked) =>
        (await log.between(...asked)).map((each) =>
          each.index === events - 1 ? { ...each, event: undefined } : each,
        ),
      ),
      behind: () => [{ tenant, head: events }],
    },
    clock: systemClock,
    random: createSystemRandom(),
    sizes: { small: events, merged: 16 },
    onUnread: () => {},
  });
  await maker.turn();
}
