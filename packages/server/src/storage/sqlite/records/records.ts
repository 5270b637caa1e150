// Records in journal.db: writes belong to the commit of a pool, reads have their own connection.

import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { RecordKind, RecordOwner, RecordReader, StoredRecord } from '../../../records/records.ts';
import type { RowsRequest } from '../../../paging.ts';
import { callsFor, callsHere } from '../../../runtime/calls.ts';
import { numberOf } from '../../rows/columns.ts';
import { LAST_ID, later } from '../../rows/last-id.ts';
import {
  keepPast,
  listedRecordsIn,
  RECORD_COLUMNS,
  recordsIn,
  RECORDS_COUNTED_MAX,
  RECORDS_VERSION,
  recordValues,
} from '../../rows/record-row.ts';

/** Whatever is kept of records and tenants is read again. Random, so that the next change is seen even if the value was tampered with. */
export const NEW_VERSION = `INSERT INTO meta (name, value) VALUES ('${RECORDS_VERSION}', hex(randomblob(8)))
   ON CONFLICT (name) DO UPDATE SET value = excluded.value`;

/** Runs inside the caller's transaction. */
export class RecordRows {
  readonly #version: StatementSync;
  readonly #named: StatementSync;
  readonly #keepPast: StatementSync;
  readonly #put: StatementSync;
  readonly #newVersion: StatementSync;

  constructor(db: DatabaseSync) {
    this.#version = db.prepare('SELECT version FROM records WHERE tenant = ? AND kind = ? AND id = ?');
    this.#version.setReadBigInts(true);
    this.#named = db.prepare(
      'SELECT 1 FROM records WHERE tenant = ? AND kind = ? AND unique_name = ? AND id <> ?',
    );
    this.#keepPast = db.prepare(keepPast('tenant', ['?', '?', '?']));
    this.#put = db.prepare(
      `INSERT OR REPLACE INTO records (tenant, ${RECORD_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    this.#newVersion = db.prepare(NEW_VERSION);
  }

  version(tenant: number, { kind, id }: StoredRecord): number {
    const row = this.#version.get(tenant, kind, id);
    return row === undefined ? 0 : numberOf(row, 'version');
  }

  isNameTaken(tenant: number, { kind, id, uniqueName = '' }: StoredRecord): boolean {
    return this.#named.get(tenant, kind, uniqueName, id) !== undefined;
  }

  put(tenant: number, record: StoredRecord): void {
    this.#keepPast.run(tenant, record.kind, record.id);
    this.#put.run(tenant, ...recordValues(record));
    this.#newVersion.run();
  }
}

/** Reading the version takes a few microseconds, so it is done at intervals: a revoked key works for this long elsewhere. */
const FRESH_MS = 5;

const RECORDS = `SELECT tenant_id, ${RECORD_COLUMNS} FROM records JOIN tenants USING (tenant)`;
const OWNED = `${RECORDS} WHERE tenant_id = ? AND kind = ?`;
const PAST = OWNED.replace('FROM records', 'FROM past_records');

export function createRecordReader(db: DatabaseSync): RecordReader {
  const reads = callsHere(new RecordReads(db));
  const { version, byLookup, byId, all } = reads;
  return {
    freshMs: () => FRESH_MS,
    version,
    byLookup,
    byId,
    all,
    forOwner: (owner) => callsFor(owner, reads),
  };
}

class RecordReads {
  readonly #version: StatementSync;
  readonly #byLookup: StatementSync;
  readonly #byId: StatementSync;
  readonly #all: StatementSync;
  readonly #find: StatementSync;
  readonly #past: StatementSync;
  readonly #list: StatementSync;
  readonly #before: StatementSync;
  readonly #after: StatementSync;
  readonly #stateBefore: StatementSync;
  readonly #stateAfter: StatementSync;
  readonly #stateCount: StatementSync;
  readonly #count: StatementSync;

  constructor(db: DatabaseSync) {
    this.#version = db.prepare(`SELECT value FROM meta WHERE name = '${RECORDS_VERSION}'`);
    this.#byLookup = db.prepare(`${RECORDS} WHERE kind = ? AND lookup = ?`);
    this.#byId = db.prepare(`${RECORDS} WHERE kind = ? AND id = ?`);
    this.#all = db.prepare(`${RECORDS} WHERE kind = ? ORDER BY id`);
    this.#find = db.prepare(`${OWNED} AND id = ?`);
    this.#past = db.prepare(`${PAST} AND id = ? AND version = ?`);
    this.#list = db.prepare(`${OWNED} ORDER BY id`);
    this.#before = db.prepare(`${OWNED} AND id < ? ORDER BY id DESC LIMIT ?`);
    this.#after = db.prepare(`${OWNED} AND id > ? ORDER BY id LIMIT ?`);
    // Of its own accord SQLite walks all ids of the kind, and reads each row to see its state.
    const byState = OWNED.replace('FROM records', 'FROM records INDEXED BY records_by_state');
    const inState = `${byState} AND state = ? AND id > ?`;
    this.#stateBefore = db.prepare(`${inState} AND id < ? ORDER BY id DESC LIMIT ?`);
    this.#stateAfter = db.prepare(`${inState} ORDER BY id LIMIT ?`);
    this.#stateCount = db.prepare(
      `SELECT count(*) AS count FROM (SELECT 1 FROM records JOIN tenants USING (tenant)
       WHERE tenant_id = ? AND kind = ? AND state = ? AND id > ? LIMIT ${RECORDS_COUNTED_MAX})`,
    );
    this.#count = db.prepare(`SELECT count(*) AS count FROM (${OWNED} LIMIT ${RECORDS_COUNTED_MAX})`);
    // Otherwise a number that is too large would throw an unrelated error.
    for (const statement of [
      this.#version,
      this.#byLookup,
      this.#byId,
      this.#all,
      this.#find,
      this.#past,
      this.#list,
      this.#before,
      this.#after,
      this.#stateBefore,
      this.#stateAfter,
    ])
      statement.setReadBigInts(true);
  }

  version(): unknown {
    return this.#version.get()?.['value'];
  }

  byLookup(kind: RecordKind, lookup: Uint8Array): StoredRecord[] {
    return recordsIn(this.#byLookup.all(kind, lookup));
  }

  byId(kind: RecordKind, id: string): StoredRecord[] {
    return recordsIn(this.#byId.all(kind, id));
  }

  all(kind: RecordKind): StoredRecord[] {
    return recordsIn(this.#all.all(kind));
  }

  find(owner: RecordOwner, kind: RecordKind, id: string): StoredRecord | undefined {
    return recordsIn(this.#find.all(owner, kind, id))[0];
  }

  past(owner: RecordOwner, kind: RecordKind, id: string, version: number): StoredRecord | undefined {
    return recordsIn(this.#past.all(owner, kind, id, version))[0];
  }

  list(owner: RecordOwner, kind: RecordKind): StoredRecord[] {
    return listedRecordsIn(this.#list.all(owner, kind));
  }

  page(owner: RecordOwner, kind: RecordKind, { way, beyond, limit }: RowsRequest): StoredRecord[] {
    const rows =
      way === 'Falling'
        ? this.#before.all(owner, kind, beyond ?? LAST_ID, limit)
        : this.#after.all(owner, kind, beyond ?? '', limit);
    return recordsIn(rows);
  }

  pageInState(
    owner: RecordOwner,
    kind: RecordKind,
    state: string,
    { way, beyond, limit, after = '' }: RowsRequest & { readonly after?: string | undefined },
  ): StoredRecord[] {
    const rows =
      way === 'Falling'
        ? this.#stateBefore.all(owner, kind, state, after, beyond ?? LAST_ID, limit)
        : this.#stateAfter.all(owner, kind, state, later(after, beyond), limit);
    return recordsIn(rows);
  }

  countInState(owner: RecordOwner, kind: RecordKind, state: string, after = ''): number {
    return numberOf(this.#stateCount.get(owner, kind, state, after), 'count');
  }

  count(owner: RecordOwner, kind: RecordKind): number {
    return numberOf(this.#count.get(owner, kind), 'count');
  }
}
