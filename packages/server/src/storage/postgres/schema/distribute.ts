// Tables that the extension Citus distributes over several machines: those of tenants by the tenant, so that all rows
// of one are on the same machine. A commit then concerns one tenant and one machine. Common tables are on each machine.

import type { QueryResult, QueryResultRow } from 'pg';
import { StartError } from '../../../start-error.ts';
import { DATABASE_ROLES, TENANT_TABLES } from './rights.ts';

/** A connection or transaction. */
export interface Queryable {
  query<R extends QueryResultRow>(text: string, values?: unknown[]): Promise<QueryResult<R>>;
}

/** Tables without a tenant that are replicated to each machine: seldom written, and in one commit with rows of a tenant. */
export const REFERENCE_TABLES: readonly string[] = ['meta'];

/** All other tables of a tenant are placed beside it. */
const FIRST_TABLE = 'heads';

const HAS_EXTENSION = `SELECT 1 FROM pg_extension WHERE extname = 'citus'`;

/** Whether the existing tables are distributed. */
export async function areDistributed(client: Queryable, schema: string): Promise<boolean> {
  // Without the extension there is no such catalogue.
  if ((await client.query(HAS_EXTENSION)).rows.length === 0) return false;
  const { rows } = await client.query(
    `SELECT 1 FROM pg_dist_partition WHERE logicalrelid = to_regclass('${schema}.${FIRST_TABLE}')`,
  );
  return rows.length > 0;
}

/** Throws StartError if the database cannot distribute tables. */
export async function requireExtension(client: Queryable): Promise<void> {
  if ((await client.query(HAS_EXTENSION)).rows.length > 0) return;
  throw new StartError(
    'Storage__Distribute is set, and the database has no extension citus: run CREATE EXTENSION citus on all of its machines, or leave the setting out',
  );
}

/** Distributes those that are not yet. Must run before there are rows, in the transaction that created them. */
export async function distributeTables(client: Queryable, schema: string): Promise<void> {
  // Earlier statements of the transaction used one connection per machine, so this one must, too.
  await client.query(`SET LOCAL citus.multi_shard_modify_mode = 'sequential'`);
  const { rows } = await client.query<{ name: string }>(
    `SELECT relname AS name FROM pg_dist_partition JOIN pg_class ON pg_class.oid = logicalrelid
     WHERE relnamespace = '${schema}'::regnamespace`,
  );
  const done = new Set(rows.map(({ name }) => name));
  for (const table of [FIRST_TABLE, ...Object.keys(TENANT_TABLES)]) {
    if (done.has(table)) continue;
    const beside = table === FIRST_TABLE ? 'none' : `${schema}.${FIRST_TABLE}`;
    await client.query(`SELECT create_distributed_table($1, 'tenant_id', colocate_with => $2)`, [
      `${schema}.${table}`,
      beside,
    ]);
    done.add(table);
  }
  for (const table of REFERENCE_TABLES.filter((each) => !done.has(each)))
    await client.query('SELECT create_reference_table($1)', [`${schema}.${table}`]);
}

/**
 * A transaction with a role logs in by the role's name on the other machines. Roles have no password: the machines
 * decide how to authenticate them.
 */
export async function letRolesIn(client: Queryable): Promise<void> {
  for (const role of Object.values(DATABASE_ROLES)) await client.query(`ALTER ROLE ${role} LOGIN`);
}

/** The values of these settings on each machine, by name; throws StartError if one does not answer. */
export async function settingsOfMachines(
  client: Queryable,
  names: readonly string[],
): Promise<Map<string, ReadonlyMap<string, string>>> {
  const asked = `SELECT string_agg(name || '=' || setting, ',') FROM pg_settings WHERE name IN (${names.map(quoted).join()})`;
  await client.query(`BEGIN; SELECT set_config('role', '${DATABASE_ROLES.Projector}', true)`);
  const { rows } = await client.query<{ machine: string; success: boolean; result: string }>(
    `SELECT nodename || ':' || nodeport AS machine, success, result
     FROM run_command_on_all_nodes($1) AS answer JOIN pg_dist_node USING (nodeid)`,
    [asked],
  );
  await client.query('COMMIT');
  const silent = rows.find(({ success }) => !success);
  if (silent !== undefined)
    throw new StartError(
      `the machine ${silent.machine} of the database cannot be asked by ${DATABASE_ROLES.Projector}: ${silent.result}`,
    );
  return new Map(rows.map(({ machine, result }) => [machine, settingsIn(result)]));
}

/** None of them has a comma in it. */
function settingsIn(text: string): ReadonlyMap<string, string> {
  return new Map(text.split(',').map((each) => each.split('=') as [string, string]));
}

function quoted(text: string): string {
  return `'${text}'`;
}
