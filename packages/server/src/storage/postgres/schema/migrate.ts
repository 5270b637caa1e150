// Creates the tables and grants the rights, with the credential of the owner. Serving users need less: they read the
// catalogue, which is public, and everything else in their roles. `requireDurable` is for processes that store events:
// it refuses a database that may lose acknowledged data.

import type { PoolClient, QueryResultRow } from 'pg';
import { StartError } from '../../../start-error.ts';
import { type Database, SCHEMA } from '../connection/database.ts';
import {
  areDistributed,
  distributeTables,
  letRolesIn,
  type Queryable,
  requireExtension,
  settingsOfMachines,
} from './distribute.ts';
import { type Login, LOGINS, rolesOf } from '../connection/logins.ts';
import { DROPPED_PARTITIONS, MADE_PARTITIONS, MIGRATION_LOCK } from './content-partitions.ts';
import { DATABASE_ROLES, rightsOf, TENANT_TABLES } from './rights.ts';
import { MIGRATIONS } from './schema.ts';
import { byPartitions, byShards } from './partitions.ts';
import type { Users } from '../connection/users.ts';

const SERVER_VERSION_MIN = 150_000;
/** Roles belong to all databases of a server, so two concurrent migrations may conflict. */
const ATTEMPTS_MAX = 10;

/** No time limit: the longest that a timer waits. */
const UNHURRIED = { query_timeout: 2 ** 31 - 1 };

/** The version of the tables before, 0 for none, and now. */
export interface Migrated {
  readonly from: number;
  readonly to: number;
}

export interface MigrateOptions {
  /** Distributes new tables over machines; undefined: no. Existing ones stay unchanged. */
  readonly distribute?: boolean;
  /**
   * Leaves a database alone that another process has just migrated: rights are granted under locks, and that process is
   * serving already.
   */
  readonly onlyIfMissing?: boolean;
  /** The logins that take work from the serving user; undefined: it does everything. */
  readonly besides?: Omit<Users, 'Serving'>;
}

/** Brings the database to this version; `servedBy` is the user that may take on the roles. Throws StartError. */
export async function migrate(
  database: Database,
  servedBy: string,
  options: MigrateOptions = {},
): Promise<Migrated> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await database.plainly((client) => migrateOver(unhurried(client), servedBy, options));
    } catch (error) {
      if (!isInTheWay(error) || attempt === ATTEMPTS_MAX) throw error;
    }
  }
}

/** No deadline: another migration may be running, or the tables may be large. */
function unhurried(client: PoolClient): Queryable {
  return {
    query: <R extends QueryResultRow>(text: string, values?: unknown[]) => {
      const asked = { text, ...UNHURRIED };
      return client.query<R>(values === undefined ? asked : { ...asked, values });
    },
  };
}

async function migrateOver(
  client: Queryable,
  servedBy: string,
  { distribute = false, onlyIfMissing = false, besides = {} }: MigrateOptions,
): Promise<Migrated> {
  await client.query('BEGIN');
  await client.query('SET LOCAL statement_timeout = 0');
  await client.query(`SELECT pg_advisory_xact_lock(${MIGRATION_LOCK})`);
  for (const role of Object.values(DATABASE_ROLES)) await client.query(makeRole(role));
  await client.query(`CREATE SCHEMA IF NOT EXISTS ${SCHEMA}`);
  const version = (await hasTables(client)) ? await versionOf(client) : 0;
  requireKnown(version);
  if (onlyIfMissing && version === MIGRATIONS.length) {
    await client.query('COMMIT');
    return { from: version, to: version };
  }
  const isDistributed = version === 0 ? distribute : await areDistributed(client, SCHEMA);
  if (distribute) await requireExtension(client);
  if (distribute && !isDistributed) throw notDistributed();
  const isAlready = isDistributed && version > 0;
  for (const migration of MIGRATIONS.slice(version))
    for (const text of migration(isDistributed ? byShards : byPartitions, isAlready))
      await client.query(text);
  if (isDistributed) {
    await distributeTables(client, SCHEMA);
    await letRolesIn(client);
  }
  for (const right of rightsOf(SCHEMA, isDistributed)) await client.query(right);
  await client.query(MADE_PARTITIONS);
  await client.query(DROPPED_PARTITIONS);
  await client.query(SECURED_PARTITIONS);
  await client.query(
    `INSERT INTO meta (name, value) VALUES ('schema_version', '${MIGRATIONS.length}')
     ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
  );
  const users = Object.entries({ Serving: servedBy, ...besides }) as [Login, string][];
  const logins = users.map(([login]) => login);
  for (const [login, user] of users) await letTakeRoles(client, user, rolesOf(login, logins));
  await client.query('COMMIT');
  return { from: version, to: MIGRATIONS.length };
}

/** Throws StartError unless the tables are of this version, the user may take on the roles, and the database is durable. */
export async function requireReady(database: Database): Promise<void> {
  await requireDurable(database);
  await requireVersion(database);
}

/** Throws StartError unless the tables are of this version and the user may take on these roles. */
export async function requireVersion(database: Database, roles?: readonly string[]): Promise<void> {
  const version = await versionIn(database, roles);
  requireKnown(version);
  if (version === MIGRATIONS.length) return;
  const state = version === 0 ? 'has no tables of this service' : `has tables of version ${version}`;
  throw new StartError(
    `the database ${state}; \`tallystick migrate\` brings it to version ${MIGRATIONS.length}`,
  );
}

/**
 * The version of the existing tables; 0 for none. Throws StartError if a user may not take on its roles, or the given
 * ones.
 */
export async function versionIn(database: Database, roles?: readonly string[]): Promise<number> {
  let version = 0;
  for (const login of database.logins) {
    const taken = roles ?? rolesOf(login, database.logins);
    version = await database.plainly(async (client) => {
      if (!(await hasTables(client))) return 0;
      try {
        return await versionAs(client, taken);
      } catch (cause) {
        if (!isDenied(cause)) throw cause;
        const message =
          roles === undefined
            ? `the user of ${LOGINS[login].setting} may not take on the roles of this service (${cause.message}); \`tallystick migrate\` gives them to it`
            : `the user of the database may not take on the role ${roles.join()} (${cause.message}); an administrator of the database lets it by GRANT ${roles.join()} TO that user`;
        throw new StartError(message, { cause });
      }
    }, login);
  }
  return version;
}

async function versionAs(client: Queryable, roles: readonly string[]): Promise<number> {
  await client.query(`BEGIN READ ONLY; ${roles.map(takeRole).join('; ')}`);
  const version = await versionOf(client);
  await client.query('COMMIT');
  return version;
}

/** The user has no right to do that, or the role is missing. */
export function isDenied(error: unknown): error is Error {
  return error instanceof Error && 'code' in error && (error.code === '42501' || error.code === '22023');
}

const NEVER_OFF = ['fsync', 'full_page_writes', 'synchronous_commit'];
const LOOKED_AT = [...NEVER_OFF, 'server_version_num', 'server_encoding'];

/** Throws StartError for a database that may lose acknowledged data, is too old, or cannot hold every text. */
export async function requireDurable(database: Database): Promise<void> {
  const isDistributed = await database.plainly(async (client) => {
    const { rows } = await client.query<{ name: string; setting: string }>(
      'SELECT name, setting FROM pg_settings WHERE name = ANY ($1)',
      [LOOKED_AT],
    );
    requireKept('the database', new Map(rows.map(({ name, setting }) => [name, setting])));
    return areDistributed(client, SCHEMA);
  });
  if (!isDistributed) return;
  // This query runs in the role of the projector.
  const machines = await database.plainly((client) => settingsOfMachines(client, LOOKED_AT), 'Index');
  for (const [machine, settings] of machines) requireKept(`the machine ${machine} of the database`, settings);
}

function requireKept(what: string, settings: ReadonlyMap<string, string>): void {
  if (Number(settings.get('server_version_num')) < SERVER_VERSION_MIN)
    throw new StartError(`${what} is older than PostgreSQL 15`);
  const encoding = settings.get('server_encoding');
  if (encoding !== 'UTF8') throw new StartError(`${what} is encoded as ${encoding}; it must be UTF8`);
  for (const name of NEVER_OFF) {
    if (settings.get(name) !== 'off') continue;
    throw new StartError(
      `${what} has ${name} off: what it acknowledges may be lost, so nothing is stored in it`,
    );
  }
}

async function hasTables(client: Queryable): Promise<boolean> {
  const { rows } = await client.query(
    `SELECT 1 FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
     WHERE n.nspname = '${SCHEMA}' AND c.relname = 'meta'`,
  );
  return rows.length > 0;
}

async function versionOf(client: Queryable): Promise<number> {
  const { rows } = await client.query<{ value: string }>(
    `SELECT value FROM ${SCHEMA}.meta WHERE name = 'schema_version'`,
  );
  return Number(rows[0]?.value ?? 0);
}

function notDistributed(): StartError {
  return new StartError(
    'Storage__Distribute is set, and the tables are there already and in one place: only new ones can be distributed',
  );
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

/**
 * Permission to take on a role must not include its rights at all times: a user that had them would see every row that
 * any of the roles may see, since policies apply to all members of a role.
 */
async function letTakeRoles(client: Queryable, user: string, roles: readonly string[]): Promise<void> {
  const { rows } = await client.query<{ version: string; mighty: boolean }>(
    `SELECT current_setting('server_version_num') AS version, rolsuper AS mighty FROM pg_roles WHERE rolname = $1`,
    [user],
  );
  const [found] = rows;
  if (found === undefined) throw new StartError(`the database has no user ${user}`);
  const canSayHow = Number(found.version) >= 160_000;
  for (const role of roles) {
    if (!found.mighty && (await mayTake(client, user, role, canSayHow))) continue;
    const how = canSayHow ? ' WITH INHERIT FALSE, SET TRUE' : '';
    await client.query(`GRANT ${role} TO ${identifier(user)}${how}`);
  }
  // Before PostgreSQL 16 this is a property of the user, not of the grant.
  if (!canSayHow && !found.mighty) await client.query(`ALTER ROLE ${identifier(user)} NOINHERIT`);
}

/** Includes grants by another role, which this migration may not have the right to repeat. */
async function mayTake(client: Queryable, user: string, role: string, canSayHow: boolean): Promise<boolean> {
  const { rows } = await client.query<{ may: boolean }>(
    `SELECT pg_has_role($1, $2, '${canSayHow ? 'SET' : 'MEMBER'}') AND NOT pg_has_role($1, $2, 'USAGE') AS may`,
    [user, role],
  );
  return rows[0]?.may === true;
}

function takeRole(role: string): string {
  return `SET LOCAL ROLE ${role}`;
}

function identifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** Two transactions write the same row of the catalogue: the other one has done the work, or it can be repeated. */
function isInTheWay(error: unknown): boolean {
  if (!(error instanceof Error) || !('code' in error)) return false;
  return error.code === '23505' || error.code === '40P01' || error.message.includes('concurrently');
}

// The policies of a table apply to queries through it. Only the searcher, for which it has a policy, has rights on a
// partition itself; any other role would see no rows.
const SECURED_PARTITIONS = `DO $$ DECLARE part regclass; BEGIN
  FOR part IN SELECT inhrelid::regclass FROM pg_inherits
    WHERE inhparent IN (${Object.keys(TENANT_TABLES)
      .map((table) => `'${SCHEMA}.${table}'::regclass`)
      .join(', ')}) LOOP
    EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', part);
    EXECUTE format('ALTER TABLE %s FORCE ROW LEVEL SECURITY', part);
  END LOOP;
END $$`;
