// The tables that are copied from one database to another: all except those that are rebuilt from them, like the index
// of events, and facts about one database alone (tables.ts). Columns of the same name hold the same in every backend:
// texts and bytes unchanged, times and numbers as integers. Each backend handles its own differences: how it identifies
// a tenant, and where it keeps contents.

import { columnsOf, tablesOf } from '../tables.ts';

export type CopiedKind = 'Text' | 'Whole' | 'Bytes';
export type CopiedValue = string | number | Uint8Array | null;
export type CopiedRow = Readonly<Record<string, CopiedValue>>;

export interface CopiedTable {
  readonly name: string;
  /** The order in which rows are copied, and their unique key; the tenant comes first. */
  readonly key: readonly string[];
  readonly columns: Readonly<Record<string, CopiedKind>>;
}

/** The type of a column, without its marks. */
const KINDS: Readonly<Record<string, CopiedKind>> = {
  text: 'Text',
  bytea: 'Bytes',
  smallint: 'Whole',
  integer: 'Whole',
  bigint: 'Whole',
};

export const COPIED_TABLES: readonly CopiedTable[] = tablesOf('PostgreSQL').flatMap(([name, table]) => {
  const { key } = table;
  if (key === undefined) return [];
  const columns = columnsOf(table, 'PostgreSQL')
    .filter(([, { isMade }]) => isMade !== true)
    .map(([column, { type }]) => [column, KINDS[/^[a-z]+/.exec(type)![0]]!] as const);
  // The expiry of the content, if there is one: for a backend that partitions contents by it.
  const more = name === 'entries' ? ({ expires_at_ms: 'Whole' } as const) : {};
  return [{ name, key, columns: { ...Object.fromEntries(columns), ...more } }];
});

export function keyIn({ key }: CopiedTable, row: CopiedRow): CopiedValue[] {
  return key.map((column) => row[column] ?? null);
}

/** The number of rows per statement; fewer if they are large. */
const PORTION_ROWS = 2000;
const PORTION_BYTES = 4 * 1024 * 1024;

/** Portions of rows that fit into memory easily, for any row size. */
export function* portionsOf(rows: Iterable<CopiedRow>): Generator<CopiedRow[]> {
  let portion: CopiedRow[] = [];
  let bytes = 0;
  for (const row of rows) {
    portion.push(row);
    for (const value of Object.values(row)) bytes += lengthOf(value);
    if (portion.length < PORTION_ROWS && bytes < PORTION_BYTES) continue;
    yield portion;
    portion = [];
    bytes = 0;
  }
  if (portion.length > 0) yield portion;
}

function lengthOf(value: CopiedValue): number {
  return typeof value === 'string' || value instanceof Uint8Array ? value.length : 8;
}
