// The backends that a service keeps its data on, for tests that hold of each of them: how to start upon one, and how to read
// its log without any code of the service.

import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { openDatabases } from '../../packages/server/src/testing/postgres-server.ts';
import { type EventInLog, readLog } from './read-log.ts';
import { readPostgresLog } from './read-postgres-log.ts';
import { type Start, temporaryFolder } from './running.ts';

export interface Backend extends AsyncDisposable {
  readonly start: Start & { readonly env: Readonly<Record<string, string>> };
  readonly readLog: () => Promise<Map<string, EventInLog[]>>;
  /** Throws away what is made from the log; the service must not run. */
  forgetViews(): Promise<void>;
  /** Takes one event out of what is made from the log; the service must not run. */
  damageViews?(): Promise<void>;
}

async function openSqlite(): Promise<Backend> {
  const folder = temporaryFolder();
  const dataDirectory = join(folder.path, 'data');
  return Promise.resolve({
    start: { dataDirectory, env: {} },
    readLog: () => Promise.resolve(readLog(dataDirectory)),
    forgetViews() {
      for (const name of ['views.db', 'views.db-wal', 'views.db-shm'])
        rmSync(join(dataDirectory, name), { force: true });
      return Promise.resolve();
    },
    [Symbol.asyncDispose]: () => Promise.resolve(folder[Symbol.dispose]()),
  });
}

async function openPostgres(): Promise<Backend> {
  await using parts = new AsyncDisposableStack();
  const folder = parts.use(temporaryFolder());
  const server = parts.use(await openDatabases());
  const url = await server.createDatabase();
  const run = async (sql: string) => {
    const client = new Client({ connectionString: url });
    await client.connect();
    try {
      await client.query(`SET search_path = tallystick; ${sql}`);
    } finally {
      await client.end();
    }
  };
  const opened = parts.move();
  return {
    start: { dataDirectory: join(folder.path, 'data'), env: { Storage__Url: url } },
    readLog: () => readPostgresLog(url),
    // All of them: the next view may be of the same generation.
    forgetViews: () => run('TRUNCATE views, docs, view_counts, view_keys'),
    damageViews: () =>
      run(
        `DELETE FROM docs WHERE (tenant_id, leaf_index) IN (SELECT tenant_id, leaf_index FROM docs
         WHERE tenant_id <> '*' LIMIT 1)`,
      ),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

export const BACKENDS: Readonly<Record<'SQLite' | 'PostgreSQL', () => Promise<Backend>>> = {
  SQLite: openSqlite,
  PostgreSQL: openPostgres,
};
