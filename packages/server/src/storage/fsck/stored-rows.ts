// What the verifier of a store reads of it, whatever the database is: rows as they are stored, in order and in portions, and
// no row can hide from it by what it holds. All of it comes from one state of the store.

import type { EvidenceError } from '@tallystick/evidence';
import type { StoredRecord } from '../../records/records.ts';
import type { Deletion } from '../../streams/removal/removal.ts';
import type { Awaitable } from '../answers.ts';
import type { Check } from './checks.ts';
import type { LogRow } from './log-row.ts';
import type { StreamRow } from './stream-row.ts';

export interface StoredTenant<Tenant> {
  /** As the database calls it. */
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

export type RecordReference = Pick<StoredRecord, 'kind' | 'id'>;

/** One of the logs of a tenant. */
export interface LogOf<Tenant> {
  readonly tenant: Tenant;
  readonly epoch: number;
}

/** Where the log of a tenant ends, by what was recomputed of it. */
export interface LogEnd {
  /** In the tenant's sequence. */
  readonly nextIndex: number;
  readonly leaf: Uint8Array | undefined;
}

/** What is stored of the tree of a log beside its entries. */
export interface TreeRows<Tenant> {
  /** Of the newest checkpoint; 0 without one. */
  newestSize(log: LogOf<Tenant>): Awaitable<number>;
  /** So many of those behind a size; from the first one on, whatever its size says, where none is given. */
  checkpoints(
    log: LogOf<Tenant>,
    after: number | undefined,
    limit: number,
  ): Awaitable<readonly CheckpointRow[]>;
  /** By place, those from one to another, the second one outside. */
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
  /** The name of all logs; undefined where the store does not say it. */
  logOrigin(): Awaitable<string | undefined>;
  /** About how many entries there are. */
  entriesTotal(): Awaitable<number>;
  /** A portion of those behind one, in an order of its own; none at the end. */
  tenants(
    after: StoredTenant<Tenant> | undefined,
    only: string | undefined,
  ): Awaitable<readonly StoredTenant<Tenant>[]>;
  /** Entries from one index of the tenant's sequence to another, both included and both left open if need be: a lot of the
   * first of them, and none at the end. */
  lot(tenant: Tenant, first: number | undefined, last: number | undefined): Awaitable<readonly LogRow[]>;
  /** Those after the first log, in order: one for each restore. */
  epochs(tenant: Tenant): Awaitable<readonly EpochRow[]>;
  /** The epochs that checkpoints and hashes of tiles speak of. */
  epochsNamed(tenant: Tenant): Awaitable<readonly number[]>;
  /** So many of those that begin behind an index of the tenant's sequence. */
  streams(tenant: Tenant, after: number | undefined, limit: number): Awaitable<readonly StreamRow[]>;
  /** So many of those behind one, in the order of kind and id. */
  records(
    tenant: Tenant,
    after: RecordReference | undefined,
    limit: number,
  ): Awaitable<readonly StoredRecord[]>;
  /** So many of those that begin behind an index of the tenant's sequence. */
  deletions(tenant: Tenant, after: number | undefined, limit: number): Awaitable<readonly Deletion[]>;
  /** Throws EvidenceError where the store says elsewhere, too, how the log of a tenant ends, and says it otherwise. */
  requireEnd(tenant: Tenant, end: LogEnd): Awaitable<void>;
  /** Of no tenant, and looked at before all logs: each throws EvidenceError. */
  readonly ofTheWhole: readonly { readonly check: Check; readonly look: () => Awaitable<void> }[];
  /** Throws EvidenceError at the first row of a tenant that is not there. */
  requireKnownTenants(): Awaitable<void>;
  /** Throws EvidenceError; `met` is how many contents were met with their entries, undefined if that is not known. */
  requireNoStrayContent(met: number | undefined): Awaitable<void>;
  /** What is in the schema, is no evidence, and why. */
  notEvidence(): Awaitable<Readonly<Record<string, string>>>;
  /** The fault that an error stands for; throws the error itself if it is none of the data. */
  faultOf(error: unknown): EvidenceError;
}
