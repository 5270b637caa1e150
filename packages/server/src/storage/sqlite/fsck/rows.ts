// Entries with their contents as they are stored, read in lots by index. What a column holds is looked at here: the
// pages of a file that somebody has changed may hold anything.

import type { DatabaseSync, SQLInputValue, SQLOutputValue, StatementSync } from 'node:sqlite';
import { fault } from './store-fault.ts';

export interface LogRow {
  /** The column `leaf_index`: the place in the tenant's sequence. */
  readonly sequenceIndex: number;
  readonly classification: number;
  readonly entry: Uint8Array;
  readonly leaf: Uint8Array;
  readonly root1: Uint8Array;
  readonly root2: Uint8Array;
  /** Undefined once it is removed. */
  readonly content: RowContent | undefined;
}

export interface RowContent {
  readonly text1: Uint8Array;
  readonly text2: Uint8Array;
  readonly seeds: Uint8Array;
  readonly isSealed: boolean;
}

/** Enough to fill the lanes of the hash pools, few enough to stay in cache. */
const LOT_ROWS = 256;
/** The smallest and the largest integer that a column can hold: no row hides beyond. */
export const FIRST_INTEGER = -(2n ** 63n);
export const LAST_INTEGER = 2n ** 63n - 1n;

export class LogRows {
  readonly #lot: StatementSync;

  constructor(db: DatabaseSync) {
    this.#lot = db.prepare(
      `SELECT leaf_index, classification, entry, leaf, root1, root2, contents.id, text1, text2, seeds, key_id
       FROM entries LEFT JOIN contents USING (id)
       WHERE tenant = ? AND leaf_index >= ? AND leaf_index <= ? ORDER BY leaf_index LIMIT ${LOT_ROWS}`,
    );
    this.#lot.setReturnArrays(true);
  }

  /** Lot by lot, those of the tenant from one index of its sequence to another, both included. */
  *lots(tenant: number, first: SQLInputValue, last: SQLInputValue): Generator<LogRow[]> {
    for (let from = first; ; ) {
      const rows = this.#lot.all(tenant, from, last) as unknown as SQLOutputValue[][];
      if (rows.length > 0) yield rows.map(rowIn);
      if (rows.length < LOT_ROWS) return;
      from = integerIn(rows.at(-1)![0]) + 1;
    }
  }
}

function rowIn(values: readonly SQLOutputValue[]): LogRow {
  const content = values[6] === null ? undefined : contentIn(values);
  return {
    sequenceIndex: integerIn(values[0]),
    classification: integerIn(values[1]),
    entry: bytesIn(values[2]),
    leaf: bytesIn(values[3]),
    root1: bytesIn(values[4]),
    root2: bytesIn(values[5]),
    content,
  };
}

function contentIn(values: readonly SQLOutputValue[]): RowContent {
  return {
    text1: bytesIn(values[7]),
    text2: bytesIn(values[8]),
    seeds: bytesIn(values[9]),
    isSealed: values[10] !== null,
  };
}

export function integerIn(value: SQLOutputValue | undefined): number {
  if (typeof value !== 'number') throw unexpected('an integer', value);
  return value;
}

export function textIn(value: SQLOutputValue | undefined): string {
  if (typeof value !== 'string') throw unexpected('text', value);
  return value;
}

export function bytesIn(value: SQLOutputValue | undefined): Uint8Array {
  if (!(value instanceof Uint8Array)) throw unexpected('bytes', value);
  return value;
}

function unexpected(what: string, value: unknown): Error {
  return fault(
    'MALFORMED',
    `a column that holds ${what} holds ${value === null ? 'nothing' : `a ${typeof value}`}`,
  );
}
