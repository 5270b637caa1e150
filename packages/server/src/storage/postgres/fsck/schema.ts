// The tables of evidence against those that this program makes: each is a table and no view, has its columns and whatever is
// unique in it, and nothing happens by itself when it is written to or read. What else somebody has in the database, and more
// indexes, is theirs.

import { fault } from '../../fsck/store-fault.ts';
import { textIn } from '../../rows/columns.ts';
import { SCHEMA, statement } from '../database.ts';
import type { Asked } from '../by-tenant.ts';

interface Table {
  /** With their types, by name; `!` where there is always a value, `=` where the database makes it. */
  readonly columns: readonly string[];
  /** The columns of each. */
  readonly unique: readonly string[];
}

const TENANT = 'tenant_id text!';

/** A test holds it against a database that the migrations have made. */
export const EXPECTED: Readonly<Record<string, Table>> = {
  meta: { columns: ['name text!', 'value text!'], unique: ['name'] },
  tenants: {
    columns: ['created_at_ms bigint!', 'fingerprint_key bytea!', TENANT],
    unique: ['tenant_id'],
  },
  records: {
    columns: [
      'body text!',
      'id text!',
      'kind text!',
      'lookup bytea',
      'mac bytea!',
      'salt bytea!',
      'state text!',
      TENANT,
      'unique_name text',
      'version bigint!',
    ],
    unique: ['tenant_id, kind, id'],
  },
  heads: {
    columns: ['leaf bytea', 'next_index bigint!', 'share smallint!=', TENANT],
    unique: ['tenant_id'],
  },
  streams: {
    columns: ['created_at_ms bigint!', 'first_index bigint!', 'stream_id text!', TENANT],
    unique: ['tenant_id, first_index', 'tenant_id, stream_id'],
  },
  entries: {
    columns: [
      'classification smallint!',
      'content_month integer!',
      'entry bytea!',
      'event_id bytea!=',
      'leaf bytea!',
      'leaf_index bigint!',
      'root1 bytea!',
      'root2 bytea!',
      TENANT,
    ],
    unique: ['tenant_id, SUBSTRING(entry FROM 53 FOR 32)', 'tenant_id, event_id', 'tenant_id, leaf_index'],
  },
  contents: {
    columns: [
      'content_month integer!',
      'expires_at_ms bigint',
      'key_id text',
      'leaf_index bigint!',
      'seeds bytea!',
      'sent_fingerprint bytea',
      TENANT,
      'text1 bytea!',
      'text2 bytea!',
    ],
    unique: ['tenant_id, leaf_index, content_month'],
  },
  checkpoints: {
    columns: ['epoch integer!', 'note text!', 'published_at_ms bigint!', 'size bigint!', TENANT],
    unique: ['tenant_id, epoch, size'],
  },
  tile_hashes: {
    columns: ['epoch integer!', 'hash bytea!', 'level integer!', 'place bigint!', TENANT],
    unique: ['tenant_id, epoch, level, place'],
  },
  epochs: {
    columns: ['epoch integer!', 'first_index bigint!', 'previous_checkpoint text!', TENANT],
    unique: ['tenant_id, epoch'],
  },
};

const EVIDENCE = Object.keys(EXPECTED)
  .map((table) => `'${table}'`)
  .join(', ');
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
// Of the tables and of their partitions. What the database makes by itself for its own ends is marked as internal.
const BY_ITSELF = statement(
  `WITH family AS (SELECT c.oid, c.relname FROM pg_class AS c LEFT JOIN pg_inherits AS i ON i.inhrelid = c.oid
     LEFT JOIN pg_class AS parent ON parent.oid = i.inhparent
     WHERE c.relnamespace = '${SCHEMA}'::regnamespace AND coalesce(parent.relname, c.relname) IN (${EVIDENCE}))
   SELECT 'trigger ' || t.tgname || ' on ' || f.relname AS said FROM pg_trigger AS t JOIN family AS f ON f.oid = t.tgrelid
     WHERE NOT t.tgisinternal
   UNION ALL SELECT 'rule ' || r.rulename || ' on ' || f.relname FROM pg_rewrite AS r JOIN family AS f ON f.oid = r.ev_class`,
);

/** Throws EvidenceError. */
export async function requireSchema(asked: Asked): Promise<void> {
  const [columns, unique] = [await asked.query(COLUMNS), await asked.query(UNIQUE)];
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
  const [stranger] = await asked.query(BY_ITSELF);
  if (stranger !== undefined)
    throw fault('MALFORMED', `the schema has the ${textIn(stranger, 'said')}, which is none of ours`);
}

/** The columns of every table, by `<table>.<column>`. */
export async function columnsOf(asked: Asked): Promise<string[]> {
  return (await asked.query(COLUMNS)).map((row) => `${textIn(row, 'table')}.${textIn(row, 'column')}`);
}
