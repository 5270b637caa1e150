// Records: things that callers make and may change, such as API keys and the settings of a tenant. A record is put by
// compare-and-swap on its version, in one commit with the notice that tells of it, with the idempotency key that the
// request uses up, and with the other records of the same change. Each noun says what its records hold; no backend knows.

import type { TenantId } from '@tallystick/contract';
import type { RowsRequest } from '../paging.ts';

export type RecordKind =
  | 'ApiKey'
  | 'Erasure'
  | 'Export'
  | 'ExportSchedule'
  | 'LegalHold'
  | 'PendingRedaction'
  | 'Policy'
  | 'Subscription'
  | 'Tenant';

/** `*`: the installation, which has a log of its own. */
export type RecordOwner = TenantId | '*';

export interface StoredRecord {
  readonly owner: RecordOwner;
  readonly kind: RecordKind;
  /** Empty where an owner has one record of the kind. */
  readonly id: string;
  /** 1 for a new one. */
  readonly version: number;
  /** The RFC 8785 text of all that it holds; the three below are copies of members of it, to find it by. */
  readonly body: string;
  readonly state: string;
  /** No other record of the owner and the kind has it. */
  readonly uniqueName: string | undefined;
  /** It is found by this without its owner: for an API key, its hash. */
  readonly lookup: Uint8Array | undefined;
  /** The salt of the commitment to the body in the notice. */
  readonly salt: Uint8Array;
  /** Under a key that is not in the store: see record-macs.ts. */
  readonly mac: Uint8Array;
}

/** Why nothing of a request was stored. */
export type ChangeRefusal =
  /** The stored version of a record is not the previous one; `version` is the stored one, 0 if there is none. */
  | { readonly status: 'Stale'; readonly id: string; readonly version: number }
  | { readonly status: 'NameTaken'; readonly uniqueName: string }
  /** Holds or policies are others than those that the request has seen. */
  | { readonly status: 'HoldsChanged' };

export interface RecordReader {
  /** Differs after every change of any record, by any process. */
  version(): Promise<unknown>;
  /** How long a reader may use a record before it reads the version again. */
  freshMs(): number;
  /** Of any owner. Several only if rows were added by others than the service: one of them may be genuine. */
  byLookup(kind: RecordKind, lookup: Uint8Array): Promise<readonly StoredRecord[]>;
  /** As byLookup: of any owner, and possibly several. */
  byId(kind: RecordKind, id: string): Promise<readonly StoredRecord[]>;
  /** Those of all owners, by id. */
  all(kind: RecordKind): Promise<readonly StoredRecord[]>;
  forOwner(owner: RecordOwner): OwnedRecords;
}

export interface OwnedRecords {
  find(kind: RecordKind, id: string): Promise<StoredRecord | undefined>;
  /** As it was in a version before the current one. */
  past(kind: RecordKind, id: string, version: number): Promise<StoredRecord | undefined>;
  /** By id. */
  list(kind: RecordKind): Promise<readonly StoredRecord[]>;
  page(kind: RecordKind, request: RowsRequest): Promise<readonly StoredRecord[]>;
  /** Those in a state; `after`: none at or below this id. */
  pageInState(
    kind: RecordKind,
    state: string,
    request: RowsRequest & { readonly after?: string | undefined },
  ): Promise<readonly StoredRecord[]>;
  /** Counted as `count` does. */
  countInState(kind: RecordKind, state: string, after?: string): Promise<number>;
  /** How many there are, counted up to one more than a list's total is exact for. */
  count(kind: RecordKind): Promise<number>;
}
