// Records on PostgreSQL: writes belong to the transaction of a pool, reads to the operations.

import type { RowsRequest } from '../../../paging.ts';
import type {
  OwnedRecords,
  RecordKind,
  RecordOwner,
  RecordReader,
  StoredRecord,
} from '../../../records/records.ts';
import { numberOf, textIn } from '../../rows/columns.ts';
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
import {
  ALL_TENANTS,
  type Database,
  type DatabaseScope,
  statement,
  type Transaction,
} from '../connection/database.ts';

const HELD = statement(
  `SELECT id, version, unique_name FROM records
   WHERE tenant_id = $1 AND kind = $2 AND (id = $3 OR unique_name = $4::text)`,
);
const KEEP_PAST = statement(keepPast('tenant_id', ['$1', '$2', '$3']));
const PUT = statement(
  `INSERT INTO records (tenant_id, ${RECORD_COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
   ON CONFLICT (tenant_id, kind, id) DO UPDATE SET version = excluded.version, body = excluded.body,
     state = excluded.state, unique_name = excluded.unique_name, lookup = excluded.lookup, salt = excluded.salt,
     mac = excluded.mac`,
);
/** Whatever is kept of records and tenants is read again. Random, so that the next change is seen even if the value was tampered with. */
export const NEW_VERSION = statement(
  `INSERT INTO meta (name, value) VALUES ('${RECORDS_VERSION}', gen_random_uuid()::text)
   ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
);

/** The records of a pool, once its logs are locked; lookups see earlier writes. */
export class RecordRows {
  /** By owner, kind and id. */
  readonly #versions = new Map<string, number>();
  /** The id that has a name, by owner, kind and name. */
  readonly #named = new Map<string, string>();
  readonly #put: StoredRecord[] = [];

  async load(transaction: Transaction, records: readonly StoredRecord[]): Promise<void> {
    const found = await Promise.all(
      records.map(({ owner, kind, id, uniqueName = null }) =>
        transaction.query(HELD, [owner, kind, id, uniqueName]),
      ),
    );
    for (const [i, { owner, kind }] of records.entries()) {
      for (const row of found[i]!) {
        this.#versions.set(nameOf(owner, kind, textIn(row, 'id')), numberOf(row, 'version'));
        if (row['unique_name'] !== null)
          this.#named.set(nameOf(owner, kind, textIn(row, 'unique_name')), textIn(row, 'id'));
      }
    }
  }

  version({ owner, kind, id }: StoredRecord): number {
    return this.#versions.get(nameOf(owner, kind, id)) ?? 0;
  }

  isNameTaken({ owner, kind, id, uniqueName = '' }: StoredRecord): boolean {
    const holder = this.#named.get(nameOf(owner, kind, uniqueName));
    return holder !== undefined && holder !== id;
  }

  put(record: StoredRecord): void {
    const { owner, kind, id, version, uniqueName } = record;
    this.#versions.set(nameOf(owner, kind, id), version);
    const ofKind = nameOf(owner, kind, '');
    for (const [name, holder] of this.#named)
      if (holder === id && name.startsWith(ofKind)) this.#named.delete(name);
    if (uniqueName !== undefined) this.#named.set(nameOf(owner, kind, uniqueName), id);
    this.#put.push(record);
  }

  /** The version in `meta` is written last, to prevent deadlocks between nodes. */
  async write(transaction: Transaction): Promise<void> {
    if (this.#put.length === 0) return;
    for (const record of this.#put) {
      const { owner, kind, id, version } = record;
      if (version > 1) await transaction.change(KEEP_PAST, [owner, kind, id]);
      await transaction.change(PUT, [owner, ...recordValues(record)]);
    }
    await transaction.change(NEW_VERSION);
  }
}

function nameOf(...parts: readonly string[]): string {
  return parts.join('\n');
}

/** Reading the version is a round trip: a revoked key works for this long on other nodes. */
const FRESH_MS = 50;

const RECORDS = `SELECT tenant_id, ${RECORD_COLUMNS} FROM records`;
const OWNED = `${RECORDS} WHERE tenant_id = $1 AND kind = $2`;
const VERSION = statement(`SELECT value FROM meta WHERE name = '${RECORDS_VERSION}'`);
const BY_LOOKUP = statement(`${RECORDS} WHERE kind = $1 AND lookup = $2`);
const BY_ID = statement(`${RECORDS} WHERE kind = $1 AND id = $2`);
const ALL = statement(`${RECORDS} WHERE kind = $1 ORDER BY id`);
const FIND = statement(`${OWNED} AND id = $3`);
const PAST = statement(`${OWNED.replace('FROM records', 'FROM past_records')} AND id = $3 AND version = $4`);
const LIST = statement(`${OWNED} ORDER BY id`);
const BEFORE = statement(`${OWNED} AND id < $3 ORDER BY id DESC LIMIT $4`);
const AFTER = statement(`${OWNED} AND id > $3 ORDER BY id LIMIT $4`);
const IN_STATE = `${OWNED} AND state = $3 AND id > $4`;
const STATE_BEFORE = statement(`${IN_STATE} AND id < $5 ORDER BY id DESC LIMIT $6`);
const STATE_AFTER = statement(`${IN_STATE} ORDER BY id LIMIT $5`);
const STATE_COUNT = statement(
  `SELECT count(*) AS count FROM (SELECT 1 FROM records WHERE tenant_id = $1 AND kind = $2 AND state = $3 AND id > $4
   LIMIT ${RECORDS_COUNTED_MAX}) AS counted`,
);
const COUNT = statement(
  `SELECT count(*) AS count FROM (SELECT 1 FROM records WHERE tenant_id = $1 AND kind = $2
   LIMIT ${RECORDS_COUNTED_MAX}) AS counted`,
);
const NO_TENANT: DatabaseScope = { role: 'Reader', tenants: [] };

export function createRecordReader(database: Database): RecordReader {
  return {
    freshMs: () => FRESH_MS,
    version: async () => (await database.read(NO_TENANT, VERSION))[0]?.['value'],
    byLookup: async (kind, lookup) =>
      recordsIn(await database.read({ role: 'Reader', keyHash: lookup }, BY_LOOKUP, [kind, lookup])),
    byId: async (kind, id) => recordsIn(await database.read(ALL_TENANTS, BY_ID, [kind, id])),
    all: async (kind) => recordsIn(await database.read(ALL_TENANTS, ALL, [kind])),
    forOwner: (owner) => ownedRecords(database, owner),
  };
}

function ownedRecords(database: Database, owner: RecordOwner): OwnedRecords {
  const scope: DatabaseScope = { role: 'Reader', tenants: [owner] };
  const read = (asked: typeof FIND, kind: RecordKind, ...more: (string | number)[]) =>
    database.read(scope, asked, [owner, kind, ...more]);
  return {
    find: async (kind, id) => recordsIn(await read(FIND, kind, id))[0],
    past: async (kind, id, version) => recordsIn(await read(PAST, kind, id, version))[0],
    list: async (kind) => listedRecordsIn(await read(LIST, kind)),
    page: async (kind, { way, beyond, limit }: RowsRequest) =>
      recordsIn(
        way === 'Falling'
          ? await read(BEFORE, kind, beyond ?? LAST_ID, limit)
          : await read(AFTER, kind, beyond ?? '', limit),
      ),
    pageInState: async (kind, state, { way, beyond, limit, after = '' }) =>
      recordsIn(
        way === 'Falling'
          ? await read(STATE_BEFORE, kind, state, after, beyond ?? LAST_ID, limit)
          : await read(STATE_AFTER, kind, state, later(after, beyond), limit),
      ),
    countInState: async (kind, state, after = '') =>
      numberOf((await read(STATE_COUNT, kind, state, after))[0], 'count'),
    count: async (kind) => numberOf((await read(COUNT, kind))[0], 'count'),
  };
}
