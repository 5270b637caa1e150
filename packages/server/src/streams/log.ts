// The log as the rest of the server knows it: the port through which drafts become events, and the one through
// which events are read. A backend makes each append atomic in its own way; what it must promise is written here
// and held by storage/conformance.

import type {
  Classification,
  Duration,
  EventId,
  OperationName,
  StreamId,
  TenantId,
} from '@tallystick/contract';
import type { Kind } from '@tallystick/evidence';
import type { ChangeRefusal, StoredRecord } from '../records/records.ts';
import type { AnchoredHead } from './anchor/anchor.ts';
import type { Divergence } from './anchor/divergence.ts';

/** An event as accepted, without a place in the log yet. */
export interface Draft {
  readonly kind: Kind;
  readonly eventId: EventId;
  /** The RFC 8785 texts of its two groups as UTF-8: exactly the bytes that are hashed, stored and shown. */
  readonly texts: readonly [Uint8Array, Uint8Array];
  readonly classification: Classification;
  /** How long its content is kept, from `receivedAt` on; undefined: for ever (notices). */
  readonly retention: Duration | undefined;
  /** Of the fields as the client sent them, and of the client (repeats.ts); there when it chose the event's id. */
  readonly sentFingerprint?: Uint8Array | undefined;
}

/** What makes a request safe to repeat: the caller's key, and what was asked under it. */
export interface Once {
  readonly operation: OperationName;
  readonly key: string;
  /** Of the request and its caller (repeats.ts). */
  readonly fingerprint: Uint8Array;
  /** A caller who may not read so much learns of no repeat but its own. */
  readonly classification: Classification;
  readonly expiresAtMs: number;
  /** Whatever the operation needs besides the outcomes to give its answer again; ids, statuses and codes only. */
  readonly note: string;
}

export interface AppendRequest extends Omit<EventsRequest, 'records'> {
  /** Records that change with it; then the drafts are the notices that tell of them. */
  readonly records?: readonly StoredRecord[];
}

/** One that changes no record. */
export interface EventsRequest {
  readonly tenant: TenantId;
  readonly drafts: readonly Draft[];
  readonly records?: never;
  /** All drafts are appended, or none. */
  readonly atomic: boolean;
  /** Used up in the same commit, and only when at least one draft was appended or recognised. */
  readonly once?: Once | undefined;
  /** Of the caller: which repeats of others it may learn of. Undefined: the lowest. */
  readonly clearance?: Classification | undefined;
}

/** Appended now, or recognised by its id and its fingerprint as one that was appended before. */
export interface Placed {
  readonly status: 'Appended' | 'Duplicate';
  readonly eventId: EventId;
  readonly index: number;
  readonly receivedAtMs: number;
}

export type DraftOutcome =
  | Placed
  /** The id is taken by other content, by content that is no longer there, or by what this caller may not compare with. */
  | { readonly status: 'Conflict'; readonly eventId: EventId }
  /** Sound, but another draft of its atomic request was not. */
  | { readonly status: 'NotAppended'; readonly eventId: EventId };

/** What a key was used up for. */
export interface UsedKey {
  readonly fingerprint: Uint8Array;
  readonly classification: Classification;
  readonly expiresAtMs: number;
  readonly note: string;
  readonly outcomes: readonly DraftOutcome[];
}

export type AppendResult =
  | { readonly status: 'Done'; readonly outcomes: readonly DraftOutcome[] }
  /**
   * The key was used up before, by the same request (`Repeated`) or by another one (`KeyReused`). The latter also where
   * the caller may not know which.
   */
  | { readonly status: 'Repeated'; readonly used: UsedKey }
  | { readonly status: 'KeyReused' };

/** The request could not be appended for a reason of its own; the others of its pool were. */
export interface AppendFault {
  readonly status: 'Faulty';
  readonly error: Error;
}

/** Ends a stream before its time. */
export interface SealRequest {
  readonly tenant: TenantId;
  readonly streamId: StreamId;
  readonly once?: Once | undefined;
}

export type SealResult =
  /** The notice that is now the last entry of the stream. */
  | { readonly status: 'Sealed'; readonly notice: Placed }
  | { readonly status: 'Repeated'; readonly used: UsedKey }
  | { readonly status: 'KeyReused' }
  /** The tenant has no such stream. */
  | { readonly status: 'Unknown' }
  | { readonly status: 'SealedBefore' }
  /** There is nothing in it to seal. */
  | { readonly status: 'Empty' };

/** A log of the tenant that was signed, as it was anchored last: the newest one, if it had several. */
export interface EpochRequest {
  readonly tenant: TenantId;
  readonly anchored: AnchoredHead;
  /** All that is still known of what was anchored: the store may have less than that, and nothing else. */
  readonly history?: readonly AnchoredHead[];
}

export type EpochResult =
  | {
      readonly status: 'Begun';
      /** Of the log that is written to from now on. */
      readonly origin: string;
      /** How many entries of the anchored log the store still has; in the notice, too. */
      readonly restoredSize: number;
      /** The first entry of the new log. */
      readonly notice: Placed;
    }
  /** There is no such tenant, or the anchored log is not one of its logs. */
  | { readonly status: 'Unknown' }
  /** The store has what was anchored, or goes on from it already. */
  | { readonly status: 'NotNeeded' }
  /** Its entries are not those that were anchored or signed at this size: nothing can go on from them. */
  | ({ readonly status: 'OtherHistory' } & Divergence);

/** A request with records may be refused for them. */
export type AppendOutcome = AppendResult | ChangeRefusal | AppendFault;

/** By place in the pool, what is decided. */
export type OnHeld = (decided: ReadonlyMap<number, AppendOutcome>) => void;

export interface LogWriter {
  /**
   * Appends all requests in one commit and resolves when they are durable: one result per request, in order.
   * Within a tenant, indexes have no gap, each entry links to the one before, and receivedAt never runs backwards.
   * Rejects when nothing is known to be durable; then what was asked may be there or not, and asking again with the
   * same key or ids is safe. `nowMs` is the wall clock; keys that expired by `steadyNowMs` do not count. Where logs are held
   * by somebody else for a moment, `onHeld` is told once what of the others is decided and durable; it is among the results,
   * too.
   */
  append(requests: readonly AppendRequest[], now: AppendTime, onHeld?: OnHeld): Promise<AppendOutcome[]>;
  /**
   * Seals the tenant's open stream, if it is the one that is named: a notice becomes its last entry and the next stream
   * opens, in one commit with the key. An append does the same by itself when a stream has reached its age or its size.
   */
  seal(request: SealRequest, now: AppendTime): Promise<SealResult>;
  /**
   * Where the store is behind what was anchored of the tenant, or has another history: the tenant's sequence goes on in a
   * new log under a new origin, which begins with the notice of that, in one commit. Nothing of the old one changes, and
   * its last stream ends without a seal: that would be one more entry of a log which must not go on. Whoever has read
   * growth of this tenant opens the store anew before reading more.
   */
  beginEpoch(request: EpochRequest, now: AppendTime): Promise<EpochResult>;
  /**
   * Seals a portion of the open streams that hold something and have reached their age, but none of the tenants in
   * `except`, whose logs must not go on; true when there may be more.
   */
  sealAged(now: AppendTime, except?: readonly TenantId[]): Promise<boolean>;
  /** Forgets a portion of the keys that expired by `steadyNowMs`; true when there may be more. */
  sweepUsedKeys(steadyNowMs: number): Promise<boolean>;
  /** Resolves when a commit without events is durable: tells whether appends would succeed. */
  probe(): Promise<void>;
}

export interface AppendTime {
  readonly nowMs: number;
  readonly steadyNowMs: number;
}

/** When the open stream is sealed: by an append itself, or by `sealAged`. */
export interface StreamLimits {
  /**
   * Streams are cut at the whole multiples of this since 1970 UTC: a stream ends before the first entry that is received
   * behind another such cut than its own first entry. One without entries has no age.
   */
  readonly sealAfter: { readonly ms: number };
  /** A stream that holds so many entries is sealed in the same commit; the notice that says so comes on top. */
  readonly sealAfterEvents: number;
}

/** An event as it is stored. */
export interface StoredEvent {
  /** Its place in all that the tenant ever logged, from 0; the index in the entry is that in one log under one origin. */
  readonly index: number;
  /** The 116 bytes. */
  readonly entry: Uint8Array;
  readonly leaf: Uint8Array;
  readonly classification: Classification;
  readonly streamId: StreamId;
  /** Undefined where there is none, and no notice says why. */
  readonly content: StoredContent | Altered | Purged | undefined;
}

export interface StoredContent {
  readonly texts: readonly [string, string];
  readonly expiresAtMs: number | undefined;
}

/**
 * A purge notice of the log says that the content is removed. From the commit of that notice on nobody sees any of it, also
 * while it is still there.
 */
export interface Purged {
  /** Of the notice, in the tenant's sequence. */
  readonly noticeIndex: number;
  readonly purgedAtMs: number;
  /** Whether the store has nothing of it any more. */
  readonly isDeleted: boolean;
}

/** What is stored is not what was hashed. None of it leaves the store. */
export interface Altered {
  /** For the operator's eyes only. */
  readonly fault: string;
}

/**
 * A contiguous run of a log. It is open until another one follows. The last one of a log that ended with a restore has no
 * seal notice.
 */
export interface StoredStream {
  readonly streamId: StreamId;
  readonly previousStreamId: StreamId | undefined;
  readonly firstIndex: number;
  /** The first index behind it; of an open stream, the size of the log. */
  readonly endIndex: number;
  readonly createdAtMs: number;
  /** Undefined while it is open. */
  readonly sealedAtMs: number | undefined;
  /** What its first entry links to: the leaf before it, or the genesis of the log that begins there. */
  readonly genesis: Uint8Array;
  /** The leaf of its last entry; `genesis` while it is empty. */
  readonly head: Uint8Array;
  /** There if the log has no such boundaries: none of this may be shown. For the operator's eyes only. */
  readonly fault?: string;
}

/** Streams that begin before an index, newest first, or behind it, oldest first; undefined: from that end of the log. */
export type StreamsBeyond = { readonly before: number | undefined } | { readonly after: number | undefined };

/** How a run of events is read. */
export interface EventsWay {
  /** The last ones, in falling order. */
  readonly isFromEnd?: boolean;
  /** No more are read once their texts are so large together: one is always read. */
  readonly bytesMax?: number;
}

/** One tenant's log. Whoever holds it has no word for another tenant's. Events that it gives are what was hashed, or say not. */
export interface TenantLog {
  /**
   * Undefined when there is none, or neither its classification nor the one that was hashed is among `visible`. That is
   * settled in one look, before anything else of it is read: one that may not be seen takes some microseconds longer
   * than one that is not there.
   */
  event(eventId: EventId, visible: readonly Classification[]): Promise<StoredEvent | undefined>;
  /** No more than `limit`, the nearest first. */
  streams(beyond: StreamsBeyond, limit: number): Promise<StoredStream[]>;
  stream(streamId: StreamId): Promise<StoredStream | undefined>;
  /** How many there are. */
  streamCount(): Promise<number>;
  /** The events from `fromIndex` up to, not with, `endIndex`, in order and without a gap; no more than `limit`. */
  events(fromIndex: number, endIndex: number, limit: number, way?: EventsWay): Promise<StoredEvent[]>;
  /** What the key was used up for, unless that has expired by `steadyNowMs`. */
  usedKey(operation: OperationName, key: string, steadyNowMs: number): Promise<UsedKey | undefined>;
}

export interface LogReader {
  forTenant(tenant: TenantId): TenantLog;
}
