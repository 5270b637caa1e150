// A row of `records`; the columns have the same names in both backends.

import { LIMITS } from '@tallystick/contract';
import type { RecordKind, StoredRecord } from '../../records/records.ts';
import { blobOf, blobOrNone, numberOf, readOr, textIn, textOrNone } from './columns.ts';

/** These follow the tenant column. */
export const RECORD_COLUMNS = 'kind, id, version, body, state, unique_name, lookup, salt, mac';

/** Copies the current version to those of the past, before another takes its place. `owner` is the tenant column. */
export function keepPast(owner: string, places: readonly string[]): string {
  return `INSERT INTO past_records (${owner}, ${RECORD_COLUMNS}) SELECT ${owner}, ${RECORD_COLUMNS} FROM records
    WHERE ${owner} = ${places[0]} AND kind = ${places[1]} AND id = ${places[2]}`;
}

/** All versions; `is_past` says which are not the current one. */
export function allVersions(owner: string): string {
  const columns = `${owner}, ${RECORD_COLUMNS}`;
  return `(SELECT 0 AS is_past, ${columns} FROM records UNION ALL SELECT 1 AS is_past, ${columns} FROM past_records) AS versions`;
}

/** The values of RECORD_COLUMNS. */
export function recordValues(record: StoredRecord): (string | number | Uint8Array | null)[] {
  const { kind, id, version, body, state, uniqueName = null, lookup = null, salt, mac } = record;
  return [kind, id, version, body, state, uniqueName, lookup, salt, mac];
}

/** The row must also have `tenant_id`. */
export function recordIn(row: Readonly<Record<string, unknown>>): StoredRecord {
  return {
    owner: textIn(row, 'tenant_id'),
    kind: textIn(row, 'kind') as RecordKind,
    id: textIn(row, 'id'),
    version: numberOf(row, 'version'),
    body: textIn(row, 'body'),
    state: textIn(row, 'state'),
    uniqueName: textOrNone(row, 'unique_name'),
    lookup: blobOrNone(row, 'lookup'),
    salt: blobOf(row, 'salt'),
    mac: blobOf(row, 'mac'),
  };
}

/** The records that match the schema: an invalid row was not written by the service, and must not block the others. */
export function recordsIn(rows: readonly Readonly<Record<string, unknown>>[]): StoredRecord[] {
  return rows.flatMap((row) => readOr<StoredRecord[]>(() => [recordIn(row)], []));
}

/** As `recordsIn`, for callers who must notice one that somebody has altered: what cannot be read is a record of nobody's making. */
export function listedRecordsIn(rows: readonly Readonly<Record<string, unknown>>[]): StoredRecord[] {
  return rows.map((row) => readOr(() => recordIn(row), unreadable(row)));
}

/** One that is no record of this schema: it is not genuine. */
export function unreadable(row: Readonly<Record<string, unknown>>): StoredRecord {
  const [owner, id] = [String(row['tenant_id']), String(row['id'])];
  const nothing = new Uint8Array();
  const copies = { state: '', uniqueName: undefined, lookup: undefined };
  // The columns that it was found by.
  const kind = row['kind'] as RecordKind;
  return { owner, kind, id, version: 0, body: '{}', ...copies, salt: nothing, mac: nothing };
}

/** The counting limit of a list: above its exact total it only says that there are more. */
export const RECORDS_COUNTED_MAX = LIMITS.listExactTotalMax + 1;

/** The row of `meta` that gets a new random value with every change of a record. */
export const RECORDS_VERSION = 'records_version';
