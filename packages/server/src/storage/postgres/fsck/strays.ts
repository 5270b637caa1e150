// Rows without an owner: of missing tenants, and contents without an entry. Tenants are found by skipping through the
// keys of each table, at a cost that does not depend on the size of the logs.

import { fault } from '../../fsck/store-fault.ts';
import { placesOf } from '../../tables.ts';
import { numberOf, textIn } from '../../rows/columns.ts';
import { statement } from '../connection/database.ts';
import type { Statements } from '../connection/by-tenant.ts';

const STRANGERS = placesOf('PostgreSQL').map(([table, place]) => ({
  table,
  statements: statement(
    `WITH RECURSIVE met AS (
       (SELECT tenant_id FROM ${table} ORDER BY tenant_id LIMIT 1)
       UNION ALL SELECT (SELECT tenant_id FROM ${table} WHERE ${table}.tenant_id > met.tenant_id ORDER BY tenant_id LIMIT 1)
       FROM met WHERE met.tenant_id IS NOT NULL)
     SELECT met.tenant_id, (SELECT min(${place}) FROM ${table} WHERE ${table}.tenant_id = met.tenant_id) AS place FROM met
     WHERE met.tenant_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM tenants WHERE tenants.tenant_id = met.tenant_id) LIMIT 1`,
  ),
}));

const CONTENT_COUNT = statement('SELECT count(*) AS count FROM contents');
const STRAY_CONTENT = statement(
  `SELECT tenant_id, leaf_index FROM contents WHERE NOT EXISTS (SELECT 1 FROM entries
     WHERE entries.tenant_id = contents.tenant_id AND entries.leaf_index = contents.leaf_index
       AND entries.content_month = contents.content_month) LIMIT 1`,
);

/** Throws EvidenceError at the first row of a missing tenant. */
export async function requireKnownTenants(statements: Statements): Promise<void> {
  for (const { table, statements: strangers } of STRANGERS) {
    const [row] = await statements.query(strangers);
    if (row === undefined) continue;
    const tenant = textIn(row, 'tenant_id');
    const message = `${table} has rows of a tenant ${tenant}, which is not there`;
    throw fault('ORIGIN_MISMATCH', message, numberOf(row, 'place'));
  }
}

/** Throws EvidenceError; `met` is the number of contents that were found with their entries, undefined if unknown. */
export async function requireNoStrayContent(statements: Statements, met: number | undefined): Promise<void> {
  if (met !== undefined && numberOf((await statements.query(CONTENT_COUNT))[0], 'count') === met) return;
  const [stray] = await statements.query(STRAY_CONTENT);
  if (stray === undefined) return;
  const [tenant, index] = [textIn(stray, 'tenant_id'), numberOf(stray, 'leaf_index')];
  throw fault('TRUNCATED', `there is content of ${tenant} at ${index}, and no entry that it is of`, index);
}
