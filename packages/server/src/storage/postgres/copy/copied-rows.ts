// Writes the rows of a copy into the database, and reads them back. This needs no more rights than serving: rows are
// added in the roles that normally add them, and only for their tenants. A portion is one statement, like a pool of
// events: the bytes of all rows are sent as one value.

import type { TenantId } from '@tallystick/contract';
import type { CopiedKind, CopiedRow, CopiedTable, CopiedValue } from '../../rows/copied-tables.ts';
import { contentMonthOf } from '../../rows/content-month.ts';
import { ContentMonths } from '../schema/content-months.ts';
import {
  ALL_TENANTS,
  type Database,
  type DatabaseScope,
  type Statement,
  statement,
  type Value,
} from '../connection/database.ts';
import { TENANT_TABLES } from '../schema/rights.ts';

const TYPES: Readonly<Record<CopiedKind, string>> = { Text: 'text', Whole: 'bigint', Bytes: 'bytea' };
const NO_BYTES = -1;

export class CopiedRows {
  readonly #database: Database;
  readonly #months: ContentMonths;

  constructor(database: Database) {
    this.#database = database;
    this.#months = new ContentMonths(database);
  }

  /** The key of the last row; portions are written in order, so all rows up to it are stored. */
  async lastKey(table: CopiedTable): Promise<CopiedValue[] | undefined> {
    const descending = table.key.map((column) => `${column} DESC`).join(', ');
    const [row] = await this.#database.read(
      ALL_TENANTS,
      statement(`SELECT ${table.key.join(', ')} FROM ${table.name} ORDER BY ${descending} LIMIT 1`),
    );
    return row === undefined ? undefined : table.key.map((column) => row[column] as CopiedValue);
  }

  /** One durable commit; existing rows make it fail. */
  async put(table: CopiedTable, rows: readonly CopiedRow[]): Promise<void> {
    if (table.name === 'contents') await this.#months.ensure(rows.map(monthOf));
    const here = rows.map((row) => asHere(table, row));
    const values = valuesOf(columnsHere(table), here);
    await this.#database.inTransaction(scopeOf(table, rows), (transaction) =>
      transaction.change(putInto(table), values),
    );
  }

  /** Rows after one key up to another, or to the end, in the form of `asHere`; at most `limit`. */
  async between(
    table: CopiedTable,
    after: readonly CopiedValue[] | undefined,
    last: readonly CopiedValue[] | undefined,
    limit: number,
  ): Promise<CopiedRow[]> {
    const values: Value[] = [...(after ?? []), ...(last ?? []), limit];
    const asked = readFrom(table, after !== undefined, last !== undefined);
    return (await this.#database.read(ALL_TENANTS, asked, values)) as CopiedRow[];
  }
}

/** A row as it is stored here: content is in the partition of its expiry month, which its entry names. */
export function asHere({ name }: CopiedTable, row: CopiedRow): CopiedRow {
  if (name === 'contents') return { ...row, content_month: monthOf(row) };
  if (name !== 'entries') return row;
  const { expires_at_ms: _, ...entry } = row;
  return { ...entry, content_month: monthOf(row) };
}

/** The columns of the table here, except generated ones. */
export function columnsHere({ name, columns }: CopiedTable): Readonly<Record<string, CopiedKind>> {
  if (name === 'contents') return { ...columns, content_month: 'Whole' };
  if (name !== 'entries') return columns;
  const { expires_at_ms: _, ...entry } = columns;
  return { ...entry, content_month: 'Whole' };
}

/** For an entry whose content is gone: no content is looked up there. */
function monthOf({ expires_at_ms: expiresAtMs }: CopiedRow): number {
  return contentMonthOf((expiresAtMs as number | null) ?? undefined);
}

/** The role that adds such rows while the service runs. */
function scopeOf({ name }: CopiedTable, rows: readonly CopiedRow[]): DatabaseScope {
  if (TENANT_TABLES[name]?.Writer?.includes('INSERT') !== true) return ALL_TENANTS;
  return { role: 'Writer', tenants: [...new Set(rows.map((row) => row['tenant_id'] as TenantId))] };
}

function putInto(table: CopiedTable): Statement {
  const columns = Object.entries(columnsHere(table));
  const parameters: string[] = [];
  const names: string[] = [];
  // The first parameter is the bytes of all rows.
  const add = (name: string, type: string) => {
    names.push(name);
    parameters.push(`$${names.length + 1}::${type}[]`);
  };
  const taken = columns.map(([column, kind]) => {
    if (kind !== 'Bytes') {
      add(column, TYPES[kind]);
      return column;
    }
    add(`${column}_at`, 'integer');
    add(`${column}_length`, 'integer');
    const piece = `substring($1::bytea from ${column}_at for ${column}_length)`;
    return `CASE WHEN ${column}_length <> ${NO_BYTES} THEN ${piece} END`;
  });
  return statement(
    `WITH row AS MATERIALIZED (SELECT * FROM unnest(${parameters.join(', ')}) AS row (${names.join(', ')}))
     INSERT INTO ${table.name} (${columns.map(([column]) => column).join(', ')})
     SELECT ${taken.join(', ')} FROM row WHERE $1::bytea IS NOT NULL`,
  );
}

/** Column by column, as `putInto` takes them. */
function valuesOf(columns: Readonly<Record<string, CopiedKind>>, rows: readonly CopiedRow[]): Value[] {
  const bytes: Uint8Array[] = [];
  let length = 0;
  const values: Value[] = [];
  for (const [column, kind] of Object.entries(columns)) {
    if (kind !== 'Bytes') {
      values.push(rows.map((row) => row[column] ?? null));
      continue;
    }
    const places: number[] = [];
    const lengths: number[] = [];
    for (const row of rows) {
      const value = row[column] as Uint8Array | null;
      // SQL counts bytes from 1.
      places.push(length + 1);
      lengths.push(value?.length ?? NO_BYTES);
      if (value === null) continue;
      bytes.push(value);
      length += value.length;
    }
    values.push(places, lengths);
  }
  return [Buffer.concat(bytes), ...values];
}

function readFrom(table: CopiedTable, isBehind: boolean, isUpTo: boolean): Statement {
  const columns = columnsHere(table);
  const key = table.key.join(', ');
  let parameter = 0;
  const place = () => table.key.map((column) => `$${++parameter}::${TYPES[columns[column]!]}`).join(', ');
  const conditions = [
    ...(isBehind ? [`(${key}) > (${place()})`] : []),
    ...(isUpTo ? [`(${key}) <= (${place()})`] : []),
  ];
  return statement(
    `SELECT ${Object.keys(columns).join(', ')} FROM ${table.name}
     ${conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`} ORDER BY ${key} LIMIT $${parameter + 1}`,
  );
}
