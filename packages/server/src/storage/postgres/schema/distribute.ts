// Tables that are spread over several machines by the extension Citus: those of tenants by the tenant, so that all rows of
// one are on the same machine. One commit is then of one tenant, and of one machine. What belongs to all of them is on each.

import type { QueryResult, QueryResultRow } from 'pg';
import { StartError } from '../../../start-error.ts';
import { ROLES, TENANT_TABLES } from './rights.ts';

/** Whoever can be asked. */
export interface Asking {
  query<R extends QueryResultRow>(text: string, values?: unknown[]): Promise<QueryResult<R>>;
}

/** Tables without a tenant that are the same on each machine: seldom written, and in one commit with rows of a tenant. */
export const REFERENCE_TABLES: readonly string[] = ['meta'];

/** Next to it all others of a tenant are placed. */
const FIRST_TABLE = 'heads';

const HAS_EXTENSION = `SELECT 1 FROM pg_extension WHERE extname = 'citus'`;

/** Whether the tables that are there are distributed. */
export async function areDistributed(client: Asking, schema: string): Promise<boolean> {
  // Without the extension there is no such catalogue.
  if ((await client.query(HAS_EXTENSION)).rows.length === 0) return false;
  const { rows } = await client.query(
    `SELECT 1 FROM pg_dist_partition WHERE logicalrelid = to_regclass('${schema}.${FIRST_TABLE}')`,
  );
  return rows.length > 0;
}

/** Throws StartError where the tables that are wanted cannot be had here. */
export async function requireExtension(client: Asking): Promise<void> {
  if ((await client.query(HAS_EXTENSION)).rows.length > 0) return;
  throw new StartError(
    'Storage__Distribute is set, and the database has no extension citus: run CREATE EXTENSION citus on all of its machines, or leave the setting out',
  );
}

/** Spreads those that are not yet. To be run before there are any rows, in the transaction that has made them. */
export async function distributeTables(client: Asking, schema: string): Promise<void> {
  // What was made for all machines in the same transaction was made over one connection to each; so is this.
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
 * Who has taken on a role is logged in by its name on the other machines. They have no password: which way they come in is
 * for the machines to say.
 */
export async function letRolesIn(client: Asking): Promise<void> {
  for (const role of Object.values(ROLES)) await client.query(`ALTER ROLE ${role} LOGIN`);
}

/** Of each machine the value of these settings, by name; throws StartError where one does not answer. */
export async function settingsOfMachines(
  client: Asking,
  names: readonly string[],
): Promise<Map<string, ReadonlyMap<string, string>>> {
  const asked = `SELECT string_agg(name || '=' || setting, ',') FROM pg_settings WHERE name IN (${names.map(quoted).join()})`;
  await client.query(`BEGIN; SELECT set_config('role', '${ROLES.Projector}', true)`);
  const { rows } = await client.query<{ machine: string; success: boolean; result: string }>(
    `SELECT nodename || ':' || nodeport AS machine, success, result
     FROM run_command_on_all_nodes($1) AS answer JOIN pg_dist_node USING (nodeid)`,
    [asked],
  );
  await client.query('COMMIT');
  const silent = rows.find(({ success }) => !success);
  if (silent !== undefined)
    throw new StartError(
      `the machine ${silent.machine} of the database cannot be asked by ${ROLES.Projector}: ${silent.result}`,
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
