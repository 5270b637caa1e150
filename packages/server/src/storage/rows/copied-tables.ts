// What is copied from one database to another, table by table: all that is neither made again from it, as the index of
// events is, nor a fact about one of the databases alone (tables.ts). Columns of the same name hold the same in every backend: texts
// and bytes as they are, times and numbers as whole numbers. So whatever is not said here is equal. What differs between
// them is for each backend: how it calls a tenant, and where it has its contents.

import { columnsOf, tablesOf } from '../tables.ts';

export type CopiedKind = 'Text' | 'Whole' | 'Bytes';
export type CopiedValue = string | number | Uint8Array | null;
export type CopiedRow = Readonly<Record<string, CopiedValue>>;

export interface CopiedTable {
  readonly name: string;
  /** The order in which rows are copied, and what no two of them share; the tenant comes first. */
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
  // That of the content, as long as there is one: for a backend that has contents apart by it.
  const more = name === 'entries' ? ({ expires_at_ms: 'Whole' } as const) : {};
  return [{ name, key, columns: { ...Object.fromEntries(columns), ...more } }];
});

export function keyIn({ key }: CopiedTable, row: CopiedRow): CopiedValue[] {
  return key.map((column) => row[column] ?? null);
}

/** So many are written by one statement; fewer, where they are large. */
const PORTION_ROWS = 2000;
const PORTION_BYTES = 4 * 1024 * 1024;

/** As many rows at a time as fit into memory easily, whatever they hold. */
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
