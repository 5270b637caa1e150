// Entries with their leaves as one run of bytes, which costs a fraction of reading row by row: SQLite concatenates the
// rows of a log, byte by byte, as text that is never decoded.

import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { ENTRY_BYTES, EvidenceError, HASH_BYTES } from '@tallystick/evidence';
import { blobOf, numberOf, readOr } from '../../rows/columns.ts';

/** Consecutive rows of one log: each entry is followed by its leaf. */
export interface EntryRun {
  readonly tenant: number;
  /** In the tenant's sequence. */
  readonly firstIndex: number;
  readonly rows: Uint8Array;
}

type Row = Readonly<Record<string, unknown>>;

const RUN = `tenant, min(leaf_index) AS first_index, max(leaf_index) AS last_index, count(*) AS count,
  sum(length(entry) = ${ENTRY_BYTES} AND length(leaf) = ${HASH_BYTES}) AS whole, max(id) AS last_id,
  CAST(group_concat(CAST(entry || leaf AS BLOB), '' ORDER BY leaf_index) AS BLOB) AS rows`;

/** Stands for rows with wrong lengths or a gap. */
const BROKEN = new Uint8Array(1);

export class EntryRows {
  readonly #newRuns: StatementSync;
  readonly #run: StatementSync;

  constructor(db: DatabaseSync) {
    this.#newRuns = db.prepare(
      `SELECT ${RUN} FROM (SELECT * FROM entries WHERE id > ? ORDER BY id LIMIT ?) GROUP BY tenant`,
    );
    this.#run = db.prepare(
      `SELECT ${RUN} FROM (SELECT * FROM entries WHERE tenant = ? AND leaf_index >= ? ORDER BY leaf_index LIMIT ?)
       GROUP BY tenant`,
    );
    // Otherwise a number that is too large would throw, and affect all logs.
    for (const statement of [this.#newRuns, this.#run]) statement.setReadBigInts(true);
  }

  /** The rows after this row id, at most `limit`, and the last id among them. */
  behind(
    id: number,
    limit: number,
  ): { readonly runs: EntryRun[]; readonly lastId: number; readonly count: number } {
    const found = this.#newRuns.all(id, limit);
    return {
      runs: found.map(runIn),
      lastId: found.reduce((last, row) => Math.max(last, numberOf(row, 'last_id')), id),
      count: found.reduce((sum, row) => sum + numberOf(row, 'count'), 0),
    };
  }

  /** Rows of one log from an index of the tenant's sequence on; undefined if there are none. */
  from(tenant: number, index: number, limit: number): EntryRun | undefined {
    const [row] = this.#run.all(tenant, index, limit);
    return row === undefined ? undefined : runIn(row);
  }
}

function runIn(row: Row): EntryRun {
  const tenant = numberOf(row, 'tenant');
  return readOr(() => wholeRunIn(row, tenant), { tenant, firstIndex: 0, rows: BROKEN });
}

function wholeRunIn(row: Row, tenant: number): EntryRun {
  const [firstIndex, count] = [numberOf(row, 'first_index'), numberOf(row, 'count')];
  // Rows of another length would shift all that follow.
  if (numberOf(row, 'whole') !== count || numberOf(row, 'last_index') !== firstIndex + count - 1) {
    return { tenant, firstIndex, rows: BROKEN };
  }
  return { tenant, firstIndex, rows: blobOf(row, 'rows') };
}

export function requireWhole({ firstIndex, rows }: EntryRun): void {
  if (rows !== BROKEN) return;
  throw new EvidenceError(
    'MALFORMED',
    `entries from ${firstIndex} on are not of their length, or have a gap`,
  );
}
