// Compares the schema of the file with that of this program: a missing or additional table, index, column or trigger is
// a fault.

import { DatabaseSync } from 'node:sqlite';
import { fault } from '../../fsck/store-fault.ts';
import { textIn } from './rows.ts';
import { MIGRATIONS } from '../connection/schema.ts';

let expected: Map<string, string> | undefined;

/** Throws EvidenceError. */
export function requireSchema(db: DatabaseSync): void {
  expected ??= freshSchema();
  const found = schemaOf(db);
  for (const [name, sql] of expected) {
    const own = found.get(name);
    if (own === sql) continue;
    throw fault('MALFORMED', `the schema has ${own === undefined ? 'no' : 'another'} ${name}`);
  }
  const stranger = [...found.keys()].find((name) => !expected?.has(name));
  if (stranger !== undefined) throw fault('MALFORMED', `the schema has ${stranger}, which is unknown`);
}

function freshSchema(): Map<string, string> {
  using fresh = new DatabaseSync(':memory:');
  for (const migration of MIGRATIONS) fresh.exec(migration);
  return schemaOf(fresh);
}

/** The columns of every table, by `<table>.<column>`. */
export function columnsOf(db: DatabaseSync): string[] {
  const rows = db.prepare(
    `SELECT tables.name AS "table", columns.name AS "column"
     FROM sqlite_schema AS tables, pragma_table_xinfo(tables.name) AS columns
     WHERE tables.type = 'table' ORDER BY tables.name, columns.cid`,
  );
  return rows.all().map((row) => `${textIn(row['table'])}.${textIn(row['column'])}`);
}

/** SQLite's own indexes of keys have no text and are compared by name. */
function schemaOf(db: DatabaseSync): Map<string, string> {
  const rows = db.prepare("SELECT type, name, tbl_name, coalesce(sql, '') AS sql FROM sqlite_schema").all();
  return new Map(
    rows.map((row) => [
      `${textIn(row['type'])} ${textIn(row['name'])}`,
      `${textIn(row['tbl_name'])}: ${textIn(row['sql'])}`,
    ]),
  );
}
