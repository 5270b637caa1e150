// Where the service under measurement stores: in its own files, or in a PostgreSQL that runs on the same machine with its
// usual durability.

import { type PostgresServer, startPostgres } from '../packages/server/src/testing/postgres-server.ts';

export interface Backend {
  readonly name: 'SQLite' | 'PostgreSQL';
  /** Behind the name of a benchmark. */
  readonly suffix: '' | '-postgres';
  open(): Promise<OpenBackend>;
}

export interface OpenBackend extends AsyncDisposable {
  /** With which the service stores there. */
  readonly settings: Readonly<Record<string, string>>;
  /** None where the service has files of its own. */
  readonly postgres: OpenPostgres | undefined;
}

export interface OpenPostgres {
  readonly server: PostgresServer;
  /** Of the database that the service stores in. */
  readonly url: string;
}

export const SQLITE: Backend = {
  name: 'SQLite',
  suffix: '',
  open: () => Promise.resolve({ settings: {}, postgres: undefined, async [Symbol.asyncDispose]() {} }),
};

/**
 * Durability is what PostgreSQL has by itself: fsync, full_page_writes and synchronous_commit are on. Tables that are filled in a
 * minute would be asked before the database has looked at them, which it does once a minute.
 */
const SERVER_SETTINGS = { shared_buffers: '256MB', max_wal_size: '4GB', autovacuum_naptime: '5s' };

export function startBenchPostgres(): Promise<PostgresServer> {
  return startPostgres(SERVER_SETTINGS);
}

export const POSTGRES: Backend = {
  name: 'PostgreSQL',
  suffix: '-postgres',
  async open() {
    const server = await startBenchPostgres();
    const url = await server.createDatabase();
    return {
      settings: { Storage__Url: url },
      postgres: { server, url },
      [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
    };
  },
};
