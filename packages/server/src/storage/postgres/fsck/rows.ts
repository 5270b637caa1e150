// Entries with their contents as they are stored, read in lots by index.

import type { TenantId } from '@tallystick/contract';
import type { LogRow, RowContent, RowOutline } from '../../fsck/log-row.ts';
import { blobOf, blobOrNone, numberOf, numberOrNone } from '../../rows/columns.ts';
import { type Row, statement, type Value } from '../connection/database.ts';
import { SEALED_COLUMNS, SealedRows, sealedFaultIn } from '../../sealing/sealed-rows.ts';
import { WITH_CONTENTS } from '../log/log-columns.ts';
import type { Statements } from '../connection/by-tenant.ts';

/** Enough to fill the lanes of the hash pools; a lot ends early once its texts reach this size, after one row at least. */
const LOT_ROWS = 256;
const LOT_BYTES_MAX = 4 * 1024 * 1024;
/** The smallest and the largest integer of a column: no row lies outside. */
export const FIRST_INTEGER = -(2n ** 63n);
export const LAST_INTEGER = 2n ** 63n - 1n;

const NO_BYTES = new Uint8Array(0);

const COLUMNS =
  'leaf_index, classification, entry, leaf, root1, root2, content_id, text1, text2, seeds, key_id, sealed_of, sealed_keys, closed, expires_at_ms, decision';
const LOT = statement(
  `SELECT ${COLUMNS} FROM (
     SELECT entries.leaf_index, classification, entry, leaf, root1, root2,
       contents.leaf_index AS content_id, text1, text2, seeds, closed, expires_at_ms, decision,
       ${SEALED_COLUMNS.PostgreSQL},
       sum(octet_length(text1) + octet_length(text2)) OVER (ORDER BY entries.leaf_index
         ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS bytes_before
     FROM (SELECT * FROM entries WHERE tenant_id = $1 AND leaf_index >= $2 AND leaf_index <= $3
       ORDER BY leaf_index LIMIT ${LOT_ROWS}) AS entries ${WITH_CONTENTS}) AS lot
   WHERE coalesce(bytes_before, 0) < ${LOT_BYTES_MAX} ORDER BY leaf_index`,
);

const OUTLINES = statement(
  `SELECT entries.leaf_index, classification, entry, contents.leaf_index AS content_id, closed IS NULL AS is_whole, expires_at_ms
   FROM (SELECT * FROM entries WHERE tenant_id = $1 AND leaf_index >= $2 AND leaf_index <= $3
     ORDER BY leaf_index LIMIT ${LOT_ROWS}) AS entries ${WITH_CONTENTS} ORDER BY entries.leaf_index`,
);

/** The rows of the tenant between two indexes of its sequence (inclusive): the first of them, one lot at most. */
export async function lotOf(
  statements: Statements,
  tenant: TenantId,
  first: Value,
  last: Value,
  sealed = new SealedRows(undefined),
): Promise<LogRow[]> {
  const rows = await statements.query(LOT, [tenant, first, last]);
  return rows.map((row) => rowIn(sealed.open(row)));
}

/** The same rows without their texts. */
export async function outlinesOf(
  statements: Statements,
  tenant: TenantId,
  first: Value,
  last: Value,
): Promise<RowOutline[]> {
  const rows = await statements.query(OUTLINES, [tenant, first, last]);
  return rows.map((row) => ({
    sequenceIndex: numberOf(row, 'leaf_index'),
    classification: numberOf(row, 'classification'),
    entry: blobOf(row, 'entry'),
    content:
      row['content_id'] === null
        ? undefined
        : { isWhole: row['is_whole'] === true, expiresAtMs: numberOrNone(row, 'expires_at_ms') },
  }));
}

/** Reads ahead within one log: the next lot is fetched while the current one is checked. */
export class LotsAhead {
  readonly #statements: Statements;
  readonly #sealed: SealedRows | undefined;
  #ahead: { readonly place: string; readonly rows: Promise<LogRow[]> } | undefined;

  constructor(statements: Statements, sealed: SealedRows | undefined) {
    this.#sealed = sealed;
    this.#statements = statements;
  }

  async lot(tenant: TenantId, first: Value, last: Value): Promise<LogRow[]> {
    const ahead = this.#ahead;
    this.#ahead = undefined;
    const isThat = ahead?.place === placeOf(tenant, first, last);
    const rows = await (isThat ? ahead.rows : lotOf(this.#statements, tenant, first, last, this.#sealed));
    const end = rows.at(-1)?.sequenceIndex;
    if (end !== undefined) this.#begin(tenant, end + 1, last);
    return rows;
  }

  #begin(tenant: TenantId, first: number, last: Value): void {
    const rows = lotOf(this.#statements, tenant, first, last, this.#sealed);
    // The consumer gets the rejection later.
    rows.catch(() => {});
    this.#ahead = { place: placeOf(tenant, first, last), rows };
  }
}

function placeOf(tenant: TenantId, first: Value, last: Value): string {
  return `${String(first)} ${String(last)} ${tenant}`;
}

function rowIn(row: Row): LogRow {
  return {
    sequenceIndex: numberOf(row, 'leaf_index'),
    classification: numberOf(row, 'classification'),
    entry: blobOf(row, 'entry'),
    leaf: blobOf(row, 'leaf'),
    root1: blobOf(row, 'root1'),
    root2: blobOf(row, 'root2'),
    content: row['content_id'] === null ? undefined : contentIn(row),
  };
}

function contentIn(row: Row): RowContent {
  const sealedFault = sealedFaultIn(row);
  if (sealedFault !== undefined) {
    const nothing = { text1: NO_BYTES, text2: NO_BYTES, seeds: NO_BYTES, closed: undefined };
    const decided = {
      expiresAtMs: numberOrNone(row, 'expires_at_ms'),
      decision: numberOrNone(row, 'decision'),
    };
    return { ...nothing, ...decided, sealedFault };
  }
  return {
    text1: blobOf(row, 'text1'),
    text2: blobOf(row, 'text2'),
    seeds: blobOf(row, 'seeds'),
    closed: blobOrNone(row, 'closed'),
    sealedFault,
    expiresAtMs: numberOrNone(row, 'expires_at_ms'),
    decision: numberOrNone(row, 'decision'),
  };
}
