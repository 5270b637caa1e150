// A row of `records`, of any database: the columns have the same names in all of them.

import { LIMITS } from '@tallystick/contract';
import type { RecordKind, StoredRecord } from '../../records/records.ts';
import { blobOf, blobOrNone, numberOf, readOr, textIn, textOrNone } from './columns.ts';

/** Behind the tenant. */
export const RECORD_COLUMNS = 'kind, id, version, body, state, unique_name, lookup, salt, mac';

/** The values of RECORD_COLUMNS. */
export function recordValues(record: StoredRecord): (string | number | Uint8Array | null)[] {
  const { kind, id, version, body, state, uniqueName = null, lookup = null, salt, mac } = record;
  return [kind, id, version, body, state, uniqueName, lookup, salt, mac];
}

/** Whose row also says `tenant_id`. */
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

/** Those that are what the schema promises: another one is none of ours, and must not keep others from being read. */
export function recordsIn(rows: readonly Readonly<Record<string, unknown>>[]): StoredRecord[] {
  return rows.flatMap((row) => readOr<StoredRecord[]>(() => [recordIn(row)], []));
}

/** So many are counted for a list: past its exact total it only says that there are more. */
export const RECORDS_COUNTED_MAX = LIMITS.listExactTotalMax + 1;

/** The number in `meta` that each change of a record counts up. */
export const RECORDS_VERSION = 'records_version';
