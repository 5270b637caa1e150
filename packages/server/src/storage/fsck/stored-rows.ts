// The rows that the store verifier reads on any backend: as they are stored, in order and in portions, and no row can
// escape by its contents. All of them come from one state of the store.

import type { EvidenceError } from '@tallystick/evidence';
import type { StoredRecord } from '../../records/records.ts';
import type { Deletion, RedactedEvent } from '../../streams/removal/removal.ts';
import type { StoredKey } from '../sealing/provide-keys.ts';
import type { Awaitable } from '../resumable.ts';
import type { Check } from './checks.ts';
import type { LogRow } from './log-row.ts';
import type { StreamRow } from './stream-row.ts';

export interface TenantRow<Tenant> {
  /** As the database identifies it. */
  readonly tenant: Tenant;
  readonly tenantId: string;
}

export interface CheckpointRow {
  readonly size: number;
  readonly note: string;
}

export interface EpochRow {
  readonly epoch: number;
  readonly firstIndex: number;
  readonly previousCheckpoint: string;
}

/** A record, or what it was in a version before. */
export interface RecordVersion extends StoredRecord {
  readonly isPast: boolean;
}

export type RecordReference = Pick<RecordVersion, 'kind' | 'id' | 'version' | 'isPast'>;

export interface DecisionRow {
  readonly decision: number;
  readonly body: string;
}

/** One of the logs of a tenant. */
export interface LogOf<Tenant> {
  readonly tenant: Tenant;
  readonly epoch: number;
}

/** The recomputed end of a tenant's log. */
export interface LogEnd {
  /** In the tenant's sequence. */
  readonly nextIndex: number;
  readonly leaf: Uint8Array | undefined;
}

/** The stored tree of a log, besides its entries. */
export interface TreeRows<Tenant> {
  /** The size of the newest checkpoint; 0 if there is none. */
  newestSize(log: LogOf<Tenant>): Awaitable<number>;
  /** At most `limit` checkpoints after a size; without a size, from the first row on, even if its size is invalid. */
  checkpoints(
    log: LogOf<Tenant>,
    after: number | undefined,
    limit: number,
  ): Awaitable<readonly CheckpointRow[]>;
  /** By index, from `from` to `end` (exclusive). */
  tileHashes(
    log: LogOf<Tenant>,
    level: number,
    from: number,
    end: number,
  ): Awaitable<ReadonlyMap<number, Uint8Array>>;
  tileHashCount(log: LogOf<Tenant>): Awaitable<number>;
  /** In the tenant's sequence. */
  hasEntryAt(tenant: Tenant, index: number): Awaitable<boolean>;
}

export interface StoredRows<Tenant> extends TreeRows<Tenant> {
  /** The name of all logs; undefined if the store does not have it. */
  logOrigin(): Awaitable<string | undefined>;
  /** An estimate of the number of entries. */
  entriesTotal(): Awaitable<number>;
  /** A portion after a given tenant, in the backend's order; empty at the end. */
  tenants(
    after: TenantRow<Tenant> | undefined,
    only: string | undefined,
  ): Awaitable<readonly TenantRow<Tenant>[]>;
  /** Entries from one index of the tenant's sequence to another, both included and both left open if need be: a lot of the
   * first of them, and none at the end. */
  lot(tenant: Tenant, first: number | undefined, last: number | undefined): Awaitable<readonly LogRow[]>;
  /** The epochs after the first log, in order: one per restore. */
  epochs(tenant: Tenant): Awaitable<readonly EpochRow[]>;
  /** The epochs that checkpoints and tile hashes refer to. */
  epochsNamed(tenant: Tenant): Awaitable<readonly number[]>;
  /** At most `limit` streams that begin after an index of the tenant's sequence. */
  streams(tenant: Tenant, after: number | undefined, limit: number): Awaitable<readonly StreamRow[]>;
  /** At most `limit` versions of records after a given one, in the order of kind, id and version. */
  records(
    tenant: Tenant,
    after: RecordReference | undefined,
    limit: number,
  ): Awaitable<readonly RecordVersion[]>;
  /** At most `limit` keys after a given one: tenant keys first, and in the order of their ids. */
  keys(tenant: Tenant, after: StoredKey | undefined, limit: number): Awaitable<readonly StoredKey[]>;
  /** At most `limit` deletions that begin after an index of the tenant's sequence. */
  deletions(tenant: Tenant, after: number | undefined, limit: number): Awaitable<readonly Deletion[]>;
  /** At most `limit` redactions after a given one, in the order of event and notice. */
  redactions(
    tenant: Tenant,
    after: RedactedEvent | undefined,
    limit: number,
  ): Awaitable<readonly RedactedEvent[]>;
  /** At most `limit` texts that have decided about events, after a number, by number. */
  decisions(tenant: Tenant, after: number | undefined, limit: number): Awaitable<readonly DecisionRow[]>;
  /** Throws EvidenceError if the store also keeps the end of the log elsewhere, and it differs. */
  requireEnd(tenant: Tenant, end: LogEnd): Awaitable<void>;
  /** Checks of the whole store, before all logs: each throws EvidenceError. */
  readonly ofTheWhole: readonly { readonly check: Check; readonly look: () => Awaitable<void> }[];
  /** Throws EvidenceError at the first row of a missing tenant. */
  requireKnownTenants(): Awaitable<void>;
  /** Throws EvidenceError; `met` is the number of contents that were found with their entries, undefined if unknown. */
  requireNoStrayContent(met: number | undefined): Awaitable<void>;
  /** The parts of the schema that are not evidence, with the reason. */
  notEvidence(): Awaitable<Readonly<Record<string, string>>>;
  /** Converts an error to its fault; rethrows errors that are not about the data. */
  faultOf(error: unknown): EvidenceError;
}
