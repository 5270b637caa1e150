// Entries with their contents as they are stored, read in lots by index. Column values are checked here, since the
// pages of a tampered file may hold anything. SQLite concatenates the columns of a lot, byte by byte, as text that is
// never decoded: one array costs a fraction of one per column. A lot with anything unusual is read column by column.

import type { DatabaseSync, SQLInputValue, SQLOutputValue, StatementSync } from 'node:sqlite';
import { ENTRY_BYTES, HASH_BYTES } from '@tallystick/evidence';
import { SEEDS_BYTES } from '../../pool/commitments.ts';
import type { LogRow, RowContent, RowOutline } from '../../fsck/log-row.ts';
import { fault } from '../../fsck/store-fault.ts';
import { SEALED_COLUMNS, SealedRows, sealedFaultIn } from '../../sealing/sealed-rows.ts';

type Values = readonly SQLOutputValue[];
type Row = Readonly<Record<string, SQLOutputValue>>;

const NO_BYTES = new Uint8Array(0);

/** Enough to fill the lanes of the hash pools, few enough to stay in cache. */
const LOT_ROWS = 256;
/** Larger lots are not joined, to save the additional copy. */
const JOINED_BYTES_MAX = 4 * 1024 * 1024;
/** The smallest and the largest integer of a column: no row lies outside. */
export const FIRST_INTEGER = -(2n ** 63n);
export const LAST_INTEGER = 2n ** 63n - 1n;

/** All columns of bytes in the order of concatenation, with their fixed length, if they have one. */
const BYTES_COLUMNS = {
  entry: ENTRY_BYTES,
  leaf: HASH_BYTES,
  root1: HASH_BYTES,
  root2: HASH_BYTES,
  seeds: SEEDS_BYTES,
  text1: undefined,
  text2: undefined,
};
const FIXED_BYTES = ENTRY_BYTES + 3 * HASH_BYTES + SEEDS_BYTES;
/** The driver reads no larger integers, and would say of none in which row it is; these two are never so large. */
const DECIDED = ['expires_at_ms', 'decision']
  .map((name) => `max(min(${name}, ${Number.MAX_SAFE_INTEGER}), -1) AS ${name}`)
  .join(', ');
/** SQLite sorts bytes after all other types, so only bytes are as large as an empty blob. */
const IS_USUAL = Object.entries(BYTES_COLUMNS)
  .map(([name, length]) => `${name} >= x''${length === undefined ? '' : ` AND length(${name}) = ${length}`}`)
  .join(' AND ');

export class LogRows {
  /** Only integers: index, classification, whether the rest is usual, the lengths of the texts, expiry and decision. */
  readonly #lengths: StatementSync;
  readonly #joined: StatementSync;
  readonly #lot: StatementSync;
  readonly #withoutTexts: StatementSync;

  readonly #sealed: SealedRows;

  constructor(db: DatabaseSync, sealed = new SealedRows(undefined)) {
    this.#sealed = sealed;
    const lot = (columns: string) =>
      `SELECT ${columns} FROM entries LEFT JOIN contents USING (id)
       WHERE tenant = ? AND leaf_index >= ? AND leaf_index <= ? ORDER BY leaf_index LIMIT ${LOT_ROWS}`;
    const isUsual = `key_id IS NULL AND closed IS NULL AND ${IS_USUAL}`;
    this.#lengths = db.prepare(
      lot(`leaf_index, classification, ${isUsual}, length(text1), length(text2), ${DECIDED}`),
    );
    const joined = lot(`${Object.keys(BYTES_COLUMNS).join(' || ')} AS joined`);
    this.#joined = db.prepare(`SELECT CAST(group_concat(joined, '') AS BLOB) FROM (${joined})`);
    this.#lot = db.prepare(
      lot(
        `leaf_index, classification, entry, leaf, root1, root2, contents.id AS content_id, text1, text2, seeds, closed,
         ${DECIDED}, ${SEALED_COLUMNS.SQLite}`,
      ),
    );
    this.#withoutTexts = db.prepare(
      lot(`leaf_index, classification, entry, contents.id, closed IS NULL, ${DECIDED}`),
    );
    for (const statement of [this.#lengths, this.#joined, this.#withoutTexts])
      statement.setReturnArrays(true);
  }

  /** The rows of the tenant between two indexes of its sequence (inclusive): the first of them, one lot at most. */
  lot(tenant: number, first: SQLInputValue, last: SQLInputValue): LogRow[] {
    const usual = this.#usualRows(tenant, first, last);
    return usual ?? this.#lot.all(tenant, first, last).map((row) => rowIn(this.#sealed.open(row)));
  }

  /** The same rows without their texts. */
  outlines(tenant: number, first: SQLInputValue, last: SQLInputValue): RowOutline[] {
    return valuesOf(this.#withoutTexts, tenant, first, last).map(
      ([index, classification, entry, contentId, isWhole, expiresAtMs]) => ({
        sequenceIndex: integerIn(index),
        classification: integerIn(classification),
        entry: bytesIn(entry),
        content:
          contentId === null
            ? undefined
            : { isWhole: isWhole === 1, expiresAtMs: integerOrNone(expiresAtMs) },
      }),
    );
  }

  /** Undefined if they must be read column by column. */
  #usualRows(tenant: number, from: SQLInputValue, last: SQLInputValue): LogRow[] | undefined {
    const outlines = valuesOf(this.#lengths, tenant, from, last);
    if (outlines.length === 0) return [];
    let length = 0;
    for (const outline of outlines) {
      if (outline[2] !== 1) return undefined;
      length += FIXED_BYTES + integerIn(outline[3]) + integerIn(outline[4]);
    }
    if (length > JOINED_BYTES_MAX) return undefined;
    const joined = valuesOf(this.#joined, tenant, from, last)[0]?.[0];
    // Without a transaction, rows may be purged between the two reads.
    return joined instanceof Uint8Array && joined.length === length ? splitRows(outlines, joined) : undefined;
  }
}

/** Returns rows as arrays, which the driver's types do not know. */
function valuesOf(
  statement: StatementSync,
  tenant: number,
  from: SQLInputValue,
  last: SQLInputValue,
): readonly Values[] {
  return statement.all(tenant, from, last) as unknown as SQLOutputValue[][];
}

function splitRows(outlines: readonly Values[], joined: Uint8Array): LogRow[] {
  let end = 0;
  return outlines.map((outline) => {
    const at = end;
    const seedsAt = at + ENTRY_BYTES + 3 * HASH_BYTES;
    const text1At = at + FIXED_BYTES;
    const text2At = text1At + integerIn(outline[3]);
    end = text2At + integerIn(outline[4]);
    const hashAt = (place: number) =>
      joined.subarray(at + ENTRY_BYTES + place * HASH_BYTES, at + ENTRY_BYTES + (place + 1) * HASH_BYTES);
    return {
      sequenceIndex: integerIn(outline[0]),
      classification: integerIn(outline[1]),
      entry: joined.subarray(at, at + ENTRY_BYTES),
      leaf: hashAt(0),
      root1: hashAt(1),
      root2: hashAt(2),
      content: {
        text1: joined.subarray(text1At, text2At),
        text2: joined.subarray(text2At, end),
        seeds: joined.subarray(seedsAt, text1At),
        closed: undefined,
        sealedFault: undefined,
        expiresAtMs: integerOrNone(outline[5]),
        decision: integerOrNone(outline[6]),
      },
    };
  });
}

function rowIn(row: Row): LogRow {
  const content = row['content_id'] === null ? undefined : contentIn(row);
  return {
    sequenceIndex: integerIn(row['leaf_index']),
    classification: integerIn(row['classification']),
    entry: bytesIn(row['entry']),
    leaf: bytesIn(row['leaf']),
    root1: bytesIn(row['root1']),
    root2: bytesIn(row['root2']),
    content,
  };
}

function contentIn(row: Row): RowContent {
  const fault = sealedFaultIn(row);
  const decided = {
    expiresAtMs: integerOrNone(row['expires_at_ms']),
    decision: integerOrNone(row['decision']),
    sealedFault: fault,
  };
  const others = {
    ...decided,
    closed: fault !== undefined || row['closed'] === null ? undefined : bytesIn(row['closed']),
  };
  if (fault !== undefined) return { ...others, text1: NO_BYTES, text2: NO_BYTES, seeds: NO_BYTES };
  return {
    text1: bytesIn(row['text1']),
    text2: bytesIn(row['text2']),
    seeds: bytesIn(row['seeds']),
    ...others,
  };
}

export function integerIn(value: SQLOutputValue | undefined): number {
  if (typeof value !== 'number') throw unexpected('an integer', value);
  return value;
}

function integerOrNone(value: SQLOutputValue | undefined): number | undefined {
  return value === null ? undefined : integerIn(value);
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
