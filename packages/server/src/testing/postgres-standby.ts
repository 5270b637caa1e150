// Two PostgreSQL servers for tests, the second of which follows the first. The first one's commits wait for it, or do not.

import { Client } from 'pg';
import { type PostgresServer, startPostgres } from './postgres-server.ts';

export interface PostgresPair extends AsyncDisposable {
  readonly primary: PostgresServer;
  readonly standby: PostgresServer;
  /** Of the database of the service, on the primary. */
  readonly url: string;
}

export interface PairOptions {
  readonly isSynchronous: boolean;
  /** Where the standby is to find a primary that listens there; undefined: where it does listen. */
  readonly reachedAt?: (primaryPort: number) => Promise<{ readonly port: number }>;
}

/** However slow the machine is. */
const PATIENCE_MS = 120_000;
const STANDBYS = `SELECT sync_state FROM pg_stat_replication WHERE application_name = 'standby' AND state = 'streaming'`;

export async function startPostgresPair({ isSynchronous, reachedAt }: PairOptions): Promise<PostgresPair> {
  await using parts = new AsyncDisposableStack();
  // The copy is taken while the other one is away, and knocks until that is there again.
  const primary = parts.use(
    await startPostgres({ wal_keep_size: '512MB', wal_retrieve_retry_interval: '100ms' }),
  );
  const url = await primary.createDatabase();
  await primary.stop();
  const from = (await reachedAt?.(primary.port)) ?? primary;
  const names = isSynchronous ? 'standby' : '';
  const standby = parts.use(await primary.copyAsStandby(from));
  await primary.start({ synchronous_standby_names: names });
  await untilFollowed(primary, isSynchronous ? 'sync' : 'async');
  const opened = parts.move();
  return { primary, standby, url, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

async function untilFollowed(primary: PostgresServer, state: string): Promise<void> {
  const deadline = Date.now() + PATIENCE_MS;
  for (;;) {
    const found = (await askSuperuser(primary, STANDBYS)).map((row) => row['sync_state']);
    if (found.length === 1 && found[0] === state) return;
    if (Date.now() > deadline) throw new Error(`no standby that is ${state}: ${found.join()}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** From now on it is a primary itself. */
export async function promote(standby: PostgresServer): Promise<void> {
  const [row] = await askSuperuser(standby, 'SELECT pg_promote(true, 120) AS done');
  if (row?.['done'] !== true) throw new Error('the standby was not promoted');
}

async function askSuperuser(server: PostgresServer, sql: string): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: server.url() });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}
