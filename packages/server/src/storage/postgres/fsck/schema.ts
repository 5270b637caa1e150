// Compares the tables of evidence with those of this program: each must be a table, not a view, with its columns and
// unique keys, and without triggers, rules or policies of others, which could show the service something else than the verifier.
// So must be those of the index. Other objects in the database, and additional indexes, are ignored.

import { fault } from '../../fsck/store-fault.ts';
import { textIn } from '../../rows/columns.ts';
import { columnsOf as columnsIn, tablesOf } from '../../tables.ts';
import { SCHEMA, statement } from '../connection/database.ts';
import type { Statements } from '../connection/by-tenant.ts';

interface Expected {
  /** With their types, by name; `!` if never null, `=` if generated. */
  readonly columns: readonly string[];
  /** The columns of each unique key. */
  readonly unique: readonly string[];
}

/** A test compares it with a migrated database. */
export const EXPECTED: Readonly<Record<string, Expected>> = Object.fromEntries(
  tablesOf('PostgreSQL')
    .map(([name, table]) => ({ name, table, columns: columnsIn(table, 'PostgreSQL') }))
    .filter(({ columns }) => columns.some(([, { evidence }]) => evidence !== undefined))
    .map(({ name, table: { key = [], unique = [key.join(', ')] }, columns }) => [
      name,
      { columns: columns.map(([column, { type }]) => `${column} ${type}`).toSorted(), unique },
    ]),
);

/** Not evidence, but compared as a whole. */
const OF_THE_INDEX = ['index_manifests', 'index_blocks'];

const LOOKED_AT = [...Object.keys(EXPECTED), ...OF_THE_INDEX].map((table) => `'${table}'`).join(', ');
const TABLES = `SELECT oid, relname FROM pg_class WHERE relnamespace = '${SCHEMA}'::regnamespace
  AND relkind IN ('r', 'p') AND NOT relispartition`;
const COLUMNS = statement(
  `SELECT t.relname AS table, a.attname AS column, a.attname || ' ' || format_type(a.atttypid, a.atttypmod)
     || CASE WHEN a.attnotnull THEN '!' ELSE '' END || CASE WHEN a.attgenerated = 's' THEN '=' ELSE '' END AS said
   FROM (${TABLES}) AS t JOIN pg_attribute AS a ON a.attrelid = t.oid AND a.attnum > 0 AND NOT a.attisdropped
   ORDER BY t.relname, a.attnum`,
);
const UNIQUE = statement(
  `SELECT t.relname AS table, (SELECT string_agg(pg_get_indexdef(i.indexrelid, k, true), ', ' ORDER BY k)
     FROM generate_series(1, i.indnkeyatts) AS k) AS said
   FROM (${TABLES}) AS t JOIN pg_index AS i ON i.indrelid = t.oid
   WHERE i.indisunique AND i.indisvalid AND i.indpred IS NULL`,
);
// Triggers and rules of the tables and of their partitions. The database marks its own as internal.
const BY_ITSELF = statement(
  `WITH family AS (SELECT c.oid, c.relname FROM pg_class AS c LEFT JOIN pg_inherits AS i ON i.inhrelid = c.oid
     LEFT JOIN pg_class AS parent ON parent.oid = i.inhparent
     WHERE c.relnamespace = '${SCHEMA}'::regnamespace AND coalesce(parent.relname, c.relname) IN (${LOOKED_AT}))
   SELECT 'trigger ' || t.tgname || ' on ' || f.relname AS said FROM pg_trigger AS t JOIN family AS f ON f.oid = t.tgrelid
     WHERE NOT t.tgisinternal
   UNION ALL SELECT 'rule ' || r.rulename || ' on ' || f.relname FROM pg_rewrite AS r JOIN family AS f ON f.oid = r.ev_class
   UNION ALL SELECT 'policy ' || p.polname || ' on ' || f.relname FROM pg_policy AS p JOIN family AS f ON f.oid = p.polrelid
     WHERE NOT p.polpermissive OR NOT p.polname = ANY (ARRAY['own_tenants', 'all_tenants', 'shown_key'])`,
);

/** Throws EvidenceError. */
export async function requireSchema(statements: Statements): Promise<void> {
  const [columns, unique] = [await statements.query(COLUMNS), await statements.query(UNIQUE)];
  const said = (rows: typeof columns, table: string) =>
    new Set(rows.filter((row) => textIn(row, 'table') === table).map((row) => textIn(row, 'said')));
  for (const [table, expected] of Object.entries(EXPECTED)) {
    const found = said(columns, table);
    if (found.size === 0) throw fault('MALFORMED', `the schema has no table ${table}`);
    const column = expected.columns.find((each) => !found.has(each));
    if (column !== undefined) throw fault('MALFORMED', `${table} has no column as it should be: ${column}`);
    const foundUnique = said(unique, table);
    const key = expected.unique.find((each) => !foundUnique.has(each));
    if (key !== undefined) throw fault('MALFORMED', `nothing keeps ${key} of ${table} unique`);
  }
  for (const table of OF_THE_INDEX)
    if (said(columns, table).size === 0) throw fault('MALFORMED', `the schema has no table ${table}`);
  const [stranger] = await statements.query(BY_ITSELF);
  if (stranger !== undefined)
    throw fault('MALFORMED', `the schema has the ${textIn(stranger, 'said')}, which is unknown`);
}

/** The columns of every table, by `<table>.<column>`. */
export async function columnsOf(statements: Statements): Promise<string[]> {
  return (await statements.query(COLUMNS)).map((row) => `${textIn(row, 'table')}.${textIn(row, 'column')}`);
}
