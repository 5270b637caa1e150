import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { ALL_CLAIMS, SEALED_CLAIMS } from '../conformance/all-claims.ts';
import { placeAt } from '../../testing/postgres-claims.ts';
import { raw } from '../../testing/postgres-nodes.ts';
import { type PostgresServer, startPostgres } from '../../testing/postgres-server.ts';
import { testRing } from '../../testing/sealed-store.ts';
import { epochClaims } from '../conformance/epochs.ts';
import { Database } from './connection/database.ts';
import { migrate } from './schema/migrate.ts';
import type { ThreadsOptions } from './postgres-storage.ts';

const isLong = process.env['FAULTS'] === 'long';

/** No user has more rights than the claims need. */
const USERS = { serving: 'serving', index: 'indexing', retention: 'retaining' };

let server: PostgresServer;
let migrated: string;
before(async () => {
  server = await startPostgres();
  migrated = await server.createDatabase();
  await using owner = new Database({ url: migrated, connectionsMax: 1 });
  for (const user of Object.values(USERS)) await raw(migrated, `CREATE ROLE ${user} LOGIN`);
  await migrate(owner, USERS.serving, { besides: { Index: USERS.index, Retention: USERS.retention } });
});
after(() => server?.[Symbol.asyncDispose]());

describe('PostgreSQL, by separate users', () => {
  for (const [claim, holds] of ALL_CLAIMS) {
    it(claim, async () => {
      await using place = placeAt(await server.createDatabase(migrated), { users: USERS });
      await holds(place);
    });
  }
});

describe('PostgreSQL with all content sealed', () => {
  for (const [claim, holds] of isLong ? ALL_CLAIMS : SEALED_CLAIMS) {
    it(claim, async () => {
      await using place = placeAt(await server.createDatabase(migrated), { users: USERS, ring: testRing() });
      await holds(place);
    });
  }
});

/**
 * Covers every kind of message of the writer thread, at once and one by one. The thread decides with the same code, and
 * starting threads takes longer than the claims.
 */
const THROUGH_THE_THREAD = new Set([
  'a request with a fault of its own is left out, and the others of its pool are appended',
  'a request repeated under its key gets what was answered first, and stores nothing',
  'another request under a used key is told so, and stores nothing',
  'of many that come at once under one key, exactly one stores',
  'keys whose window has ended are swept away in portions, the others stay',
  'an atomic request with a conflict appends nothing; one without appends all',
  'hashed, stored and returned bytes are the same, for any event',
  'a stream is sealed once, also when many ask at the same time',
  'idle streams are sealed when their day is over, all others stay open',
  'a record, its notice and the key of its request are stored together, and a repeat stores nothing',
  'a change of another version is refused, and the rest of its pool is committed',
  'a unique name belongs to one record until that gives it up',
  'no two notices remove the same, and none removes what is not before it; others of the pool are appended',
  Object.keys(epochClaims)[0]!,
]);

const fatal = (...[error]: Parameters<ThreadsOptions['onFatal']>) => {
  throw error;
};
const THREADS: ThreadsOptions = {
  onFatal: fatal,
  onIndexTrouble: (what, error) => fatal(error ?? new Error(what)),
};

describe('PostgreSQL, by one user and with threads', () => {
  const chosen = ALL_CLAIMS.filter(([claim]) => THROUGH_THE_THREAD.has(claim));
  it('chooses existing claims', () => assert.equal(chosen.length, THROUGH_THE_THREAD.size));
  for (const [claim, holds] of chosen) {
    it(claim, async () => {
      await using place = placeAt(await server.createDatabase(migrated), { threads: THREADS });
      await holds(place);
    });
  }
});
