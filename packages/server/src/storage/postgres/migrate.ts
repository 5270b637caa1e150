// Makes the tables, and gives everybody the rights that are theirs. With the credential of the owner; those who serve need
// less. Refuses a database that may forget what it has acknowledged.

import type { PoolClient } from 'pg';
import { StartError } from '../../start-error.ts';
import { type Database, SCHEMA } from './database.ts';
import { ROLES, rightsOf, TENANT_TABLES } from './rights.ts';
import { MIGRATIONS } from './schema.ts';

/** Any number that nobody else takes: who migrates waits for whoever is at it. */
const LOCK = 0x7461_6c6c;
const SERVER_VERSION_MIN = 150_000;
/** Roles are of all databases of a server, and two who make them at once may stand in each other's way. */
const ATTEMPTS_MAX = 10;

/** Brings the database to this version; `servedBy` is the user that may take on the roles. */
export async function migrate(database: Database, servedBy: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await database.plainly((client) => migrateOver(client, servedBy));
    } catch (error) {
      if (!isInTheWay(error) || attempt === ATTEMPTS_MAX) throw error;
    }
  }
}

async function migrateOver(client: PoolClient, servedBy: string): Promise<void> {
  await client.query('BEGIN');
  await client.query(`SELECT pg_advisory_xact_lock(${LOCK})`);
  for (const role of Object.values(ROLES)) await client.query(makeRole(role));
  await client.query(`CREATE SCHEMA IF NOT EXISTS ${SCHEMA}; SET LOCAL search_path = ${SCHEMA}`);
  const version = await versionOf(client);
  requireKnown(version);
  for (const migration of MIGRATIONS.slice(version)) await client.query(migration);
  for (const right of rightsOf(SCHEMA)) await client.query(right);
  await client.query(CONTENT_MONTHS);
  await client.query(SECURED_PARTITIONS);
  await client.query(
    `INSERT INTO meta (name, value) VALUES ('schema_version', '${MIGRATIONS.length}')
     ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
  );
  for (const role of Object.values(ROLES)) await client.query(`GRANT ${role} TO ${identifier(servedBy)}`);
  await client.query('COMMIT');
}

/** Throws StartError unless the tables are of this version and the database keeps what it says it does. */
export async function requireReady(database: Database): Promise<void> {
  await database.plainly(async (client) => {
    await requireDurable(client);
    const version = await versionOf(client);
    requireKnown(version);
    if (version === MIGRATIONS.length) return;
    const state = version === 0 ? 'has no tables of this service' : `has tables of version ${version}`;
    throw new StartError(`the database ${state}; \`tallystick migrate\` brings it to ${MIGRATIONS.length}`);
  });
}

/** The version of the tables that are there; 0 for none. */
export async function versionIn(database: Database): Promise<number> {
  return database.plainly(versionOf);
}

/** Throws StartError for a database that may forget what it has acknowledged, or is too old. */
async function requireDurable(client: PoolClient): Promise<void> {
  const { rows } = await client.query<{ name: string; setting: string }>(
    `SELECT name, setting FROM pg_settings
     WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit', 'server_version_num')`,
  );
  const settings = new Map(rows.map(({ name, setting }) => [name, setting]));
  if (Number(settings.get('server_version_num')) < SERVER_VERSION_MIN)
    throw new StartError('the database is older than PostgreSQL 15');
  for (const name of ['fsync', 'full_page_writes', 'synchronous_commit']) {
    if (settings.get(name) !== 'off') continue;
    throw new StartError(
      `the database has ${name} off: what it acknowledges may be lost, so nothing is stored in it`,
    );
  }
}

async function versionOf(client: PoolClient): Promise<number> {
  const { rows: tables } = await client.query<{ found: string | null }>(
    `SELECT to_regclass('${SCHEMA}.meta')::text AS found`,
  );
  if (typeof tables[0]?.found !== 'string') return 0;
  const { rows } = await client.query<{ value: string }>(
    `SELECT value FROM ${SCHEMA}.meta WHERE name = 'schema_version'`,
  );
  return Number(rows[0]?.value ?? 0);
}

function requireKnown(version: number): void {
  if (version <= MIGRATIONS.length) return;
  throw new StartError(
    `the database has tables of version ${version}, and this is a service of version ${MIGRATIONS.length}`,
  );
}

function makeRole(role: string): string {
  return `DO $$ BEGIN
    IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = '${role}') THEN CREATE ROLE ${role} NOLOGIN; END IF;
  END $$`;
}

function identifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** Two who write the same row of the catalogue: what the one wanted is done by the other, or can be done again. */
function isInTheWay(error: unknown): boolean {
  if (!(error instanceof Error) || !('code' in error)) return false;
  return error.code === '23505' || error.code === '40P01' || error.message.includes('concurrently');
}

// Whoever appends makes the partition of a month when it is first needed: it has no right to make tables, but one to have
// this done. A table of its own first, which is then attached: others read and write meanwhile.
const CONTENT_MONTHS = `
  CREATE OR REPLACE FUNCTION ${SCHEMA}.ensure_content_month(month integer) RETURNS void
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = ${SCHEMA}, pg_temp AS $$
  DECLARE part text := 'contents_' || month;
  BEGIN
    IF month < 0 OR month > 120000 THEN RAISE EXCEPTION 'there is no month %', month; END IF;
    -- A name would be looked up in what this session remembers of the catalogue; rows of it are read anew.
    IF EXISTS (SELECT 1 FROM pg_class WHERE relname = part AND relnamespace = '${SCHEMA}'::regnamespace) THEN RETURN; END IF;
    PERFORM pg_advisory_xact_lock(${LOCK});
    IF EXISTS (SELECT 1 FROM pg_class WHERE relname = part AND relnamespace = '${SCHEMA}'::regnamespace) THEN RETURN; END IF;
    EXECUTE format('CREATE TABLE %I (LIKE contents INCLUDING ALL, CHECK (content_month = %s))', part, month);
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', part);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', part);
    EXECUTE format('ALTER TABLE contents ATTACH PARTITION %I FOR VALUES FROM (%s) TO (%s)', part, month, month + 1);
  END $$;
  REVOKE ALL ON FUNCTION ${SCHEMA}.ensure_content_month(integer) FROM PUBLIC;
  GRANT EXECUTE ON FUNCTION ${SCHEMA}.ensure_content_month(integer) TO ${ROLES.Writer};
  SELECT ${SCHEMA}.ensure_content_month(0);
`;

// The policies of a table hold for whoever goes through it. Nobody has rights on a partition itself; if somebody had, there
// would be no row to see.
const SECURED_PARTITIONS = `DO $$ DECLARE part regclass; BEGIN
  FOR part IN SELECT inhrelid::regclass FROM pg_inherits
    WHERE inhparent IN (${Object.keys(TENANT_TABLES)
      .map((table) => `'${SCHEMA}.${table}'::regclass`)
      .join(', ')}) LOOP
    EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', part);
    EXECUTE format('ALTER TABLE %s FORCE ROW LEVEL SECURITY', part);
  END LOOP;
END $$`;
