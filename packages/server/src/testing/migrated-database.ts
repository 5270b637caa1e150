// A database with all tables and nothing in them: a copy of one that is migrated once. A migration takes longer than what most
// tests do with the tables.

import { Database } from '../storage/postgres/connection/database.ts';
import { migrate } from '../storage/postgres/schema/migrate.ts';
import { SUPERUSER } from './postgres-files.ts';
import { type Databases, PATIENT_LIMITS } from './postgres-server.ts';

/** The URL of the one that all tests of a run copy: on the server that they share. */
const SHARED = 'TALLYSTICK_TEST_MIGRATED';

/** For the tests of a run, whose server this is. */
export async function shareMigrated(server: Databases): Promise<void> {
  process.env[SHARED] = await migrateNew(server);
}

const migratedOn = new Map<number, Promise<string>>();

/** Served by the superuser; gives its URL. */
export async function createMigrated(server: Databases): Promise<string> {
  return server.createDatabase(await migratedFor(server));
}

function migratedFor(server: Databases): string | Promise<string> {
  const shared = process.env[SHARED];
  if (shared !== undefined && Number(new URL(shared).port) === server.port) return shared;
  const made = migratedOn.get(server.port) ?? migrateNew(server);
  migratedOn.set(server.port, made);
  return made;
}

async function migrateNew(server: Databases): Promise<string> {
  const url = await server.createDatabase();
  await using owner = new Database({ url, connectionsMax: 1, ...PATIENT_LIMITS });
  await migrate(owner, SUPERUSER);
  return url;
}
