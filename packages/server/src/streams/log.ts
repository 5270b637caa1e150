// The ports of the log: one turns drafts into events, the other reads events. Each backend makes an append atomic in
// its own way; the promises that it must keep are written here and tested by storage/conformance.

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
import type { RepeatClearance } from '../repeats.ts';
import type { CausedJob } from '../work/jobs.ts';
import type { AnchoredHead } from './anchor/anchor.ts';
import type { Divergence } from './anchor/divergence.ts';

/** An event as accepted, without a place in the log yet. */
export interface Draft {
  readonly kind: Kind;
  readonly eventId: EventId;
  /** The RFC 8785 texts of its two groups as UTF-8: exactly the bytes that are hashed, stored and shown. */
  readonly texts: readonly [Uint8Array, Uint8Array];
  readonly classification: Classification;
  /** The time for which its content is kept, from `receivedAt` on; undefined: forever (notices). */
  readonly retention: Duration | undefined;
  /** What has decided classification and retention (policies/decided-by.ts); undefined: the tenant's settings. */
  readonly decidedBy?: string | undefined;
  /** Covers the fields as the client sent them, and the client (repeats.ts); set if the client chose the event's id. */
  readonly sentFingerprint?: Uint8Array | undefined;
}

/** Makes a request safe to repeat: the caller's key, and the request made with it. */
export interface Once {
  readonly operation: OperationName;
  readonly key: string;
  /** Covers the request and its caller (repeats.ts). */
  readonly fingerprint: Uint8Array;
  /** A caller who may not read this classification learns only of its own repeats. */
  readonly classification: Classification;
  readonly expiresAtMs: number;
  /** Data besides the outcomes that the operation needs to repeat its answer; ids, statuses and codes only. */
  readonly note: string;
}

interface RequestedAppend {
  readonly tenant: TenantId;
  readonly drafts: readonly Draft[];
  /** Append all drafts or none. */
  readonly atomic: boolean;
  /** Used up in the same commit, and only if at least one draft was appended or recognised. */
  readonly once?: Once | undefined;
  /** It limits which repeats of others the caller learns of. Undefined: the lowest classification. */
  readonly clearance?: RepeatClearance | undefined;
}

export interface AppendRequest extends RequestedAppend {
  /** Records that change in the same commit; the drafts are then the notices about them. */
  readonly records?: readonly StoredRecord[];
  /** Work that it causes. */
  readonly jobs?: readonly CausedJob[];
  /**
   * For a notice that removes content: `holdsAsOf` of the tenant whose holds and policies said that nothing of it is held.
   * Refused if one of them has changed since, so that no notice is committed behind a hold that it ignores.
   */
  readonly holdsAsOf?: string | undefined;
}

/** A request that changes no record and removes nothing, so that it is never refused. */
export interface EventsRequest extends RequestedAppend {
  readonly records?: never;
  readonly jobs?: never;
  readonly holdsAsOf?: never;
}

/** Appended now, or recognised by id and fingerprint as appended before. */
export interface Placed {
  readonly status: 'Appended' | 'Duplicate';
  readonly eventId: EventId;
  readonly index: number;
  readonly receivedAtMs: number;
}

export type DraftOutcome =
  | Placed
  /** The id belongs to other content, to removed content, or to content that this caller may not compare with. */
  | { readonly status: 'Conflict'; readonly eventId: EventId }
  /** Sound, but another draft of its atomic request was not. */
  | { readonly status: 'NotAppended'; readonly eventId: EventId };

/** The request that a key was used up for. */
export interface UsedIdempotencyKey {
  readonly fingerprint: Uint8Array;
  readonly classification: Classification;
  readonly expiresAtMs: number;
  readonly note: string;
  readonly outcomes: readonly DraftOutcome[];
}

export type AppendResult =
  | { readonly status: 'Done'; readonly outcomes: readonly DraftOutcome[] }
  /**
   * The key was used before, by the same request (`Repeated`) or by another (`KeyReused`, also if the caller may not
   * know which).
   */
  | { readonly status: 'Repeated'; readonly used: UsedIdempotencyKey }
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
  | { readonly status: 'Repeated'; readonly used: UsedIdempotencyKey }
  | { readonly status: 'KeyReused' }
  /** The tenant has no such stream. */
  | { readonly status: 'Unknown' }
  | { readonly status: 'SealedBefore' }
  /** There is nothing in it to seal. */
  | { readonly status: 'Empty' };

/** The tenant's newest signed log, at its last anchored head. */
export interface EpochRequest {
  readonly tenant: TenantId;
  readonly anchored: AnchoredHead;
  /** All anchored heads that are still known: the store may have less than these, but nothing else. */
  readonly history?: readonly AnchoredHead[];
}

export type EpochResult =
  | {
      readonly status: 'Begun';
      /** The origin of the log that is written to from now on. */
      readonly origin: string;
      /** The number of entries of the anchored log that the store still has; also in the notice. */
      readonly restoredSize: number;
      /** The first entry of the new log. */
      readonly notice: Placed;
    }
  /** There is no such tenant, or the anchored log is not one of its logs. */
  | { readonly status: 'Unknown' }
  /** The store has the anchored head, or already continues from it. */
  | { readonly status: 'NotNeeded' }
  /** Its entries are not those that were anchored or signed at this size: nothing can continue from them. */
  | ({ readonly status: 'OtherHistory' } & Divergence);

/** A request with records may be refused for them, and one with `holdsAsOf` for what is held. */
export type AppendOutcome = AppendResult | ChangeRefusal | AppendFault;

/** The decided outcomes, by position in the pool. */
export type OnLocked = (decided: ReadonlyMap<number, AppendOutcome>) => void;

export interface LogWriter {
  /**
   * Appends all requests in one commit and resolves when they are durable, with one result per request, in order.
   * Within a tenant, indexes have no gap, each entry links to the previous one, and receivedAt never runs backwards.
   * Rejects when the result is unknown; a retry with the same key or ids is safe. `nowMs` is the wall clock; keys that
   * expired by `steadyNowMs` do not count. If another node has locked some of the logs, `onLocked` is called once with the
   * results of the others that are durable; they are among the final results, too.
   */
  append(requests: readonly AppendRequest[], now: AppendTime, onLocked?: OnLocked): Promise<AppendOutcome[]>;
  /**
   * Seals the tenant's open stream if it has this id: a notice becomes its last entry and the next stream opens, in one
   * commit with the key. An append does the same when a stream has reached its age or size.
   */
  seal(request: SealRequest, now: AppendTime): Promise<SealResult>;
  /**
   * For a store that is behind the tenant's anchored head, or has another history: the tenant's sequence continues in a
   * new log under a new origin, which begins with a notice, in one commit. The old log does not change, and its last
   * stream ends without a seal, which would be one more entry of a log that must not continue. A reader of this
   * tenant's growth must reopen the store before it reads more.
   */
  beginEpoch(request: EpochRequest, now: AppendTime): Promise<EpochResult>;
  /**
   * Seals a portion of the non-empty open streams that have reached their age, except those of the tenants in `except`,
   * whose logs must not continue; true if there may be more.
   */
  sealAged(now: AppendTime, except?: readonly TenantId[]): Promise<boolean>;
  /** Removes a portion of the keys that expired by `steadyNowMs`; true if there may be more. */
  sweepUsedKeys(steadyNowMs: number): Promise<boolean>;
  /**
   * Ends the windows of a portion of the tenant's keys that would end before `beforeMs`: they recognise nothing any more. True if
   * there may be more.
   */
  endKeyWindows(tenant: TenantId, beforeMs: number): Promise<boolean>;
  /** Resolves when an empty commit is durable: shows whether appends would succeed. */
  probe(): Promise<void>;
}

export interface AppendTime {
  readonly nowMs: number;
  readonly steadyNowMs: number;
}

/** When the open stream is sealed: by an append itself, or by `sealAged`. */
export interface StreamLimits {
  /**
   * Streams are cut at whole multiples of this since 1970 UTC: a stream ends before the first entry that is received in
   * another such period than its own first entry. A stream without entries has no age.
   */
  readonly sealAfter: { readonly ms: number };
  /** A stream with this number of entries is sealed in the same commit; its notice is one entry more. */
  readonly sealAfterEvents: number;
}

/** An event as it is stored. */
export interface StoredEvent {
  /** Its index in the tenant's sequence, from 0; the index inside the entry is that in one log under one origin. */
  readonly index: number;
  /** The 116 bytes. */
  readonly entry: Uint8Array;
  readonly leaf: Uint8Array;
  readonly classification: Classification;
  readonly streamId: StreamId;
  /** Undefined if there is none, and no notice explains it. */
  readonly content: StoredContent | Altered | Purged | undefined;
}

export interface StoredContent {
  /** Without the units that are deleted. */
  readonly texts: readonly [string, string];
  /**
   * The paths (RFC 6901) of units that notices of the log say are deleted, by the log's order of units. From the commit of
   * such a notice on, no reader sees the value, even while it still exists. Undefined: there are none.
   */
  readonly deletedPaths?: readonly string[];
  /** The indexes of these notices in the tenant's sequence: of each unit, the first that says so. */
  readonly deletedUnder?: readonly number[];
  readonly expiresAtMs: number | undefined;
  /** What has decided classification and retention; undefined: the tenant's settings. */
  readonly decidedBy: string | undefined;
}

/**
 * A purge notice of the log says that the content is removed. From the commit of that notice on, no reader sees it,
 * even while it still exists.
 */
export interface Purged {
  /** The index of the notice in the tenant's sequence. */
  readonly noticeIndex: number;
  readonly purgedAtMs: number;
  /** Whether the content is deleted from the store. */
  readonly isDeleted: boolean;
}

/** The stored content does not match its hash. None of it leaves the store. */
export interface Altered {
  /** For operators only. */
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
  /** It is sealed, and no event in it has content any more. */
  readonly isPurged: boolean;
  /** What its first entry links to: the leaf before it, or the genesis of the log that begins there. */
  readonly genesis: Uint8Array;
  /** The leaf of its last entry; `genesis` while it is empty. */
  readonly head: Uint8Array;
  /** Set if the log has no such boundaries: nothing of this stream may be shown. For operators only. */
  readonly fault?: string;
}

/** Exactly one stream is open, the newest. */
export type StreamState = 'Open' | 'Sealed' | 'Purged';

/** Streams that begin before an index, newest first, or behind it, oldest first; undefined: from that end of the log. */
export type StreamsBeyond = { readonly before: number | undefined } | { readonly after: number | undefined };

/** The direction and size of a read. */
export interface EventsWay {
  /** Returns the last ones, in descending order. */
  readonly isFromEnd?: boolean;
  /** Reading stops once the texts reach this size; at least one event is read. */
  readonly bytesMax?: number;
}

/**
 * One tenant's log; it gives no access to another tenant's. The events that it returns match their hashes, or say that
 * they do not.
 */
export interface TenantLog {
  /**
   * Undefined if there is none, or neither its stored nor its hashed classification is in `visible`. A single read
   * decides that before anything else of it is read: an invisible event takes a few microseconds longer than a missing
   * one.
   */
  event(eventId: EventId, visible: readonly Classification[]): Promise<StoredEvent | undefined>;
  /** At most `limit`, the nearest first; of all states, or of these. */
  streams(beyond: StreamsBeyond, limit: number, states?: readonly StreamState[]): Promise<StoredStream[]>;
  stream(streamId: StreamId): Promise<StoredStream | undefined>;
  /** How many there are, and how many of them are purged. */
  streamCount(): Promise<number>;
  purgedStreamCount(): Promise<number>;
  /** The events from `fromIndex` to `endIndex` (exclusive), in order and without a gap; at most `limit`. */
  events(fromIndex: number, endIndex: number, limit: number, way?: EventsWay): Promise<StoredEvent[]>;
  /** The notices that tell of holds and policies, from an index on, in order and at most `limit`. */
  holdNotices(fromIndex: number, limit: number): Promise<StoredEvent[]>;
  /** The request that the key was used up for, unless that has expired by `steadyNowMs`. */
  usedKey(
    operation: OperationName,
    key: string,
    steadyNowMs: number,
  ): Promise<UsedIdempotencyKey | undefined>;
}

export interface LogReader {
  forTenant(tenant: TenantId): TenantLog;
}
