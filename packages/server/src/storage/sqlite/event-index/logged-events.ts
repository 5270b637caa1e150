// Events as the index reads them from journal.db: in the order of the log, all tenants together, or one tenant's alone.

import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { decodeEntry } from '@tallystick/evidence';
import { type EventRow, NOWHERE } from '../../event-index/logged-event.ts';
import { blobOf, numberOf, readOr } from '../../rows/columns.ts';

/** A row of the log, not looked into yet. */
export interface LoggedRow extends EventRow {
  readonly entry: number;
  readonly tenant: number;
}

// Texts come as texts, which takes half the time that bytes do. Bytes that are none are replaced on the way: nobody but who
// has changed them put them there, and what is found is looked at before it is shown.
const COLUMNS = `entries.id AS id, entries.tenant AS tenant, leaf_index, leaf, entry, CAST(text1 AS TEXT) AS text1,
  CAST(text2 AS TEXT) AS text2, tenant_id,
  (SELECT stream_id FROM streams WHERE streams.tenant = entries.tenant AND first_index <= leaf_index
   ORDER BY first_index DESC LIMIT 1) AS stream_id`;
const TABLES = 'entries LEFT JOIN contents USING (id) JOIN tenants ON tenants.tenant = entries.tenant';

export class LoggedEvents {
  readonly #beyond: StatementSync;
  readonly #ofTenant: StatementSync;
  readonly #one: StatementSync;
  readonly #ends: StatementSync;
  readonly #leaf: StatementSync;

  constructor(journal: DatabaseSync) {
    this.#beyond = journal.prepare(
      `SELECT ${COLUMNS} FROM ${TABLES} WHERE entries.id > ? ORDER BY entries.id LIMIT ?`,
    );
    this.#ofTenant = journal.prepare(
      `SELECT ${COLUMNS} FROM ${TABLES} WHERE entries.tenant = ? AND leaf_index >= ? AND leaf_index < ?
       ORDER BY leaf_index LIMIT ?`,
    );
    this.#one = journal.prepare(`SELECT ${COLUMNS} FROM ${TABLES} WHERE entries.id = ?`);
    this.#ends = journal.prepare(
      `SELECT (SELECT entry FROM entries WHERE tenant = ?1 ORDER BY leaf_index LIMIT 1) AS first,
              (SELECT entry FROM entries WHERE tenant = ?1 ORDER BY leaf_index DESC LIMIT 1) AS last`,
    );
    this.#leaf = journal.prepare('SELECT leaf FROM entries WHERE id = ?');
    // They would throw for a number that is too large, and so for all tenants.
    for (const statement of [this.#beyond, this.#ofTenant, this.#one]) statement.setReadBigInts(true);
  }

  /** Of all tenants, those behind a row of entries. */
  beyond(entry: number, limit: number): LoggedRow[] {
    return this.#beyond.all(entry, limit).map(loggedRow);
  }

  ofTenant(tenant: number, fromIndex: number, endIndex: number, limit: number): LoggedRow[] {
    return this.#ofTenant.all(tenant, fromIndex, endIndex, limit).map(loggedRow);
  }

  /** When the first and the last event of a tenant were received; undefined where there is none. */
  receivedBounds(tenant: number): { readonly firstMs: number; readonly lastMs: number } | undefined {
    const row = this.#ends.get(tenant);
    if (row?.['first'] === null) return undefined;
    const timeIn = (column: string) => decodeEntry(blobOf(row, column)).receivedAtMs;
    return { firstMs: timeIn('first'), lastMs: timeIn('last') };
  }

  /** Empty where somebody has put something else in its place. */
  leafOf(entry: number): Uint8Array {
    const row = this.#leaf.get(entry);
    return readOr(() => blobOf(row, 'leaf'), new Uint8Array(0));
  }

  one(entry: number): LoggedRow | undefined {
    const row = this.#one.get(entry);
    return row === undefined ? undefined : loggedRow(row);
  }
}

function loggedRow(row: Readonly<Record<string, unknown>>): LoggedRow {
  return {
    entry: numberOf(row, 'id'),
    tenant: numberOf(row, 'tenant'),
    index: readOr(() => numberOf(row, 'leaf_index'), NOWHERE),
    row,
  };
}
