// What an index needs of a database: where segments and the list of them are kept, and the log that they are made of. Each
// backend provides both; everything else about the index exists once.

import type { TenantId } from '@tallystick/contract';
import type { QueriedEvent } from '../../../query/queried-event.ts';
import type { StoredEvent } from '../../../streams/log.ts';
import type { IndexSpan } from '../../../streams/removal/removal.ts';
import type { Awaitable } from '../segments/searched.ts';
import type { Manifest } from './manifest.ts';

export interface StoredBlock {
  readonly block: number;
  readonly bytes: Uint8Array;
}

export interface WantedBlock {
  readonly segment: number;
  readonly block: number;
}

export interface SegmentStore {
  /** Undefined where none was made yet. */
  manifest(tenant: TenantId): Awaitable<Manifest | undefined>;
  /** False where it is no longer that version; 0: there is none. */
  swap(tenant: TenantId, version: number, next: Manifest): Awaitable<boolean>;
  /** A number that no segment of any tenant has. */
  newSegment(): Awaitable<number>;
  put(tenant: TenantId, segment: number, blocks: readonly StoredBlock[]): Awaitable<void>;
  /** In their order; one that is not there is undefined. */
  get(tenant: TenantId, wanted: readonly WantedBlock[]): Awaitable<readonly (Buffer | undefined)[]>;
  remove(tenant: TenantId, segment: number): Awaitable<void>;
  /** One that has blocks, after another in some order; undefined behind the last. */
  nextTenant(after: TenantId | undefined): Awaitable<TenantId | undefined>;
  /** Removes all but these segments, unless they may still be being made. */
  sweep(tenant: TenantId, listed: readonly number[]): Awaitable<void>;
}

/** For those who only read. */
export type StoredSegments = Pick<SegmentStore, 'manifest' | 'get'>;

/** An event of the log as the index reads it. */
export interface LoggedEvent {
  readonly index: number;
  readonly leaf: Uint8Array;
  /** Undefined where its content is removed, or a notice says so. */
  readonly event: QueriedEvent | undefined;
  /** Why it cannot be read. */
  readonly fault?: string;
  /** Of its texts. */
  readonly bytes: number;
}

/** What one notice has removed. */
export interface Removal {
  readonly noticeIndex: number;
  readonly spans: readonly IndexSpan[];
  /** Of the one event in the span, if it has this id, only the units with these tags (base64); undefined: all content. */
  readonly units?: { readonly eventId: string; readonly tags: readonly string[] };
}

/** A longer tail is not read: answers end there then, and say so. */
export const TAIL_EVENTS_MAX = 65_536;

/** A log that has more events than its index. */
export interface LogBehind {
  readonly tenant: TenantId;
  readonly head: number;
}

/** Of stored text: of large events fewer are read at once. */
export const READ_BYTES_MAX = 4 * 1024 * 1024;

/** Events by their indexes. */
export interface ReadTogether<Event> {
  readonly events: ReadonlyMap<number, Event>;
  /** How many were looked for: at least one, fewer than were asked for where they are too large together. */
  readonly readCount: number;
}

export interface IndexedLog {
  /** Those with so many events behind their segments, at least; not all where they are many. */
  behind(events: number): Awaitable<readonly LogBehind[]>;
  /** The index that the next event will have. */
  head(tenant: TenantId): Awaitable<number>;
  /** From one index to before another, or fewer where they are large together; at least one if there is one. */
  between(tenant: TenantId, from: number, end: number, bytesMax: number): Awaitable<readonly LoggedEvent[]>;
  /** What the notices from this index on have removed, by the notices themselves. */
  removedSince(tenant: TenantId, noticeIndex: number): Awaitable<readonly Removal[]>;
  /** Whole events; one that is removed or unreadable is left out. */
  events(tenant: TenantId, indexes: readonly number[]): Awaitable<ReadTogether<QueriedEvent>>;
  /** As they are shown. */
  stored(tenant: TenantId, indexes: readonly number[]): Awaitable<ReadTogether<StoredEvent>>;
  /** The leaves of events, in this order; one that is not there is undefined. */
  leaves(tenant: TenantId, indexes: readonly number[]): Awaitable<readonly (Uint8Array | undefined)[]>;
  /** The tenant's own, and what is made of its key under the keyring, if it has one. */
  secrets(tenant: TenantId): Awaitable<readonly [own: Uint8Array, ...sealed: Uint8Array[]]>;
}
