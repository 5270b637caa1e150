// The log as a Merkle tree: one port makes checkpoints, the other reads checkpoints, tiles and proofs. Sizes and
// indexes here are those of one log under one origin; a tenant that continued after a restore has a new log, which
// begins at 0 again.

import type { Classification, EventId, StreamId, TenantId } from '@tallystick/contract';
import type { Checkpoint, IndexRange, Reason, Tile } from '@tallystick/evidence';
import type { Altered, Purged } from './log.ts';
import type { ContentsPortion, ContentsRequest, NoticesPortion, NoticesRequest } from './removal/proven.ts';

/** The size and root of a log: the contents of a checkpoint before it is signed. */
export type TreeHead = Checkpoint;

/** The hash of the full tile at index `place` of the level below. */
export interface TileHash {
  readonly level: number;
  readonly place: number;
  readonly hash: Uint8Array;
}

/** The growth of a log since its last checkpoint, read back from the store and recomputed. */
export interface GrownLog {
  readonly tenant: TenantId;
  readonly epoch: number;
  /** Ascending: the end of every stream that was sealed, and the newest size. Each is signed before the next. */
  readonly heads: readonly TreeHead[];
  readonly tileHashes: readonly TileHash[];
  /** Another node signs it; it was read only because of `stopAt`. */
  readonly isElsewhere?: true;
}

/** A log that does not match its hashes: it is not signed or continued. */
export interface LogFault {
  readonly tenant: TenantId;
  readonly message: string;
}

export interface Growth {
  readonly grown: readonly GrownLog[];
  readonly faults: readonly LogFault[];
  /** There is more than this read returned. */
  readonly hasMore: boolean;
  /** Logs that this node has taken over from another: they must be compared with the anchor before they are read. */
  readonly taken?: readonly Standing[];
}

export interface SignedCheckpoint {
  readonly size: number;
  readonly note: string;
}

/** The rows to store for a grown log, in one commit. */
export interface PublishedLog {
  readonly tenant: TenantId;
  readonly epoch: number;
  readonly checkpoints: readonly SignedCheckpoint[];
  readonly tileHashes: readonly TileHash[];
}

/** A stored checkpoint with additional signatures. */
export interface CosignedCheckpoint extends SignedCheckpoint {
  readonly tenant: TenantId;
  readonly epoch: number;
}

/** The state of a current log in the store. */
export interface Standing {
  readonly tenant: TenantId;
  readonly origin: string;
  readonly epoch: number;
  /** Of its first entry, in the tenant's sequence. */
  readonly firstIndex: number;
  readonly entries: number;
  readonly checkpoint: Pick<Checkpoint, 'size' | 'root'> | undefined;
  /** The reason if its rows cannot be read: the other fields are then meaningless, and the log must not continue. */
  readonly fault?: string;
  /** Another node looks after it. */
  readonly isElsewhere?: true;
}

export interface TreeWriter {
  /** Every current log that has entries. Called before anything is read. */
  standings(): Promise<Standing[]>;
  /** Makes `readGrowth` include the head at exactly this size. */
  stopAt(tenant: TenantId, size: number): Promise<void>;
  /**
   * Resolves once everything that was read is as durable as an acknowledged event: entries are visible before the
   * standby has them.
   */
  confirm(): Promise<void>;
  /**
   * Reads a portion of the entries since the last checkpoints, and recomputes leaves, chain and roots from the stored
   * bytes. Without a `publish` in between, it returns the same again, or more.
   */
  readGrowth(): Promise<Growth>;
  /**
   * Stores checkpoints and tile hashes; a size that is not larger than the newest stored one is skipped. Returns the
   * logs that are stored up to that size now: not those that another node has taken over meanwhile.
   */
  publish(logs: readonly PublishedLog[], nowMs: number): Promise<readonly PublishedLog[]>;
  /** The signed sizes of logs, by any node. A single process needs no query, and returns nothing. */
  newestSizes(tenants: readonly TenantId[]): Promise<ReadonlyMap<TenantId, number>>;
  /**
   * Replaces the stored note of exactly that size by each of these, in one commit. Returns for each whether it is
   * stored now. It is not stored if there is none of that size, if the note has another text, or if it lacks a
   * signature of the stored one.
   */
  cosign(checkpoints: readonly CosignedCheckpoint[]): Promise<boolean[]>;
}

export interface StoredCheckpoint {
  readonly note: string;
  readonly size: number;
  readonly publishedAtMs: number;
}

export interface NamedLog {
  readonly origin: string;
  readonly epoch: number;
  /** Of its first entry, in the tenant's sequence. */
  readonly firstIndex: number;
}

/** A log and how far it is signed. */
export interface LogHead extends NamedLog {
  readonly latest: StoredCheckpoint | undefined;
}

/** The tree of one log. It contains only entries that a checkpoint covers. */
export interface LogTree extends NamedLog {
  latest(): Promise<StoredCheckpoint | undefined>;
  /** The one of exactly this size. */
  checkpoint(size: number): Promise<StoredCheckpoint | undefined>;
  /** The bytes of a tile or of an entry bundle; undefined if the log has none of that width. */
  tile(tile: Tile): Promise<Uint8Array | undefined>;
  /** `count` entries from an index of the log on, as they are stored, covered by a checkpoint or not. */
  entries(index: number, count: number): Promise<Uint8Array[]>;
  root(size: number): Promise<Uint8Array>;
  inclusion(leafIndex: number, size: number): Promise<Uint8Array[]>;
  consistency(from: number, to: number): Promise<Uint8Array[]>;
  /** For each range in turn, the roots of the fewest perfect subtrees that cover it. Ranges are in order. */
  subtrees(ranges: readonly IndexRange[]): Promise<Uint8Array[]>;
}

/** The evidence for an event. */
export interface StoredEvidence {
  /** In the tenant's sequence. */
  readonly index: number;
  readonly classification: Classification;
  /** The 116 bytes. */
  readonly entry: Uint8Array;
  readonly roots: readonly [Uint8Array, Uint8Array];
  /** Undefined if there is none, and no notice explains it. */
  readonly content: OpenContent | Purged | undefined;
}

export interface OpenContent {
  /** Without the units that are deleted. */
  readonly texts: readonly [string, string];
  /** The salts of the units of each group, concatenated in the order of their tags. */
  readonly salts: readonly [Uint8Array, Uint8Array];
  /** The deleted units of each group; undefined: there are none. */
  readonly deleted?: readonly [readonly DeletedUnitEvidence[], readonly DeletedUnitEvidence[]];
}

/** What is left of a unit that is deleted. */
export interface DeletedUnitEvidence {
  /** RFC 6901. */
  readonly path: string;
  readonly commitment: Uint8Array;
  /** The index of the first notice that says so, in the tenant's sequence; undefined where none does. */
  readonly noticeIndex: number | undefined;
}

/** The log of a tenant in this epoch, at this size. */
export interface LogSize {
  readonly epoch: number;
  readonly size: number;
}

export interface ProofRequest {
  readonly eventId: EventId;
  readonly visible: readonly Classification[];
  /** Checkpoints of the tenant's logs. The one of the event's log is used if it covers the event, otherwise the newest. */
  readonly preferred: readonly LogSize[];
}

/** The proof of an event, all from one state of the store. */
export interface ProvenEvent {
  readonly head: LogHead;
  readonly evidence: StoredEvidence;
  /** Undefined while no checkpoint covers the event. */
  readonly under:
    | { readonly checkpoint: StoredCheckpoint; readonly hashes: readonly Uint8Array[] }
    | undefined;
}

/** An event that cannot be proven, because it does not match its hash, or its log differs from the signed one. */
export interface AlteredEvent extends Altered {
  /** In the tenant's sequence. */
  readonly index: number;
}

/** The proof of two sizes of a log, all from one state of the store. */
export interface ProvenGrowth {
  readonly head: LogHead;
  /** Undefined if the newest checkpoint does not cover both sizes, or the older one is larger. */
  readonly proof:
    | {
        readonly fromRoot: Uint8Array;
        readonly toRoot: Uint8Array;
        readonly hashes: readonly Uint8Array[];
        /** The checkpoint of exactly the newer size. */
        readonly checkpoint: StoredCheckpoint | undefined;
      }
    | undefined;
}

/** A portion of a log's checkpoints, newest first. */
export interface CosignedPortion {
  /** Those that others than the log have signed. */
  readonly cosigned: readonly StoredCheckpoint[];
  /** The smallest size that was read; undefined if there was none. */
  readonly lookedTo: number | undefined;
}

/** A part of a tenant's sequence; `endIndex` is exclusive. */
export interface RangeRequest {
  readonly fromIndex: number;
  readonly endIndex: number;
  /** The stream that contains the range: it must begin and end where the log says. */
  readonly streamId?: StreamId;
  /** One of these keys must have signed the checkpoint, and no other key under the log's name. */
  readonly publicKeys: readonly Uint8Array[];
  /** What the notices of the range delete, and were received before this moment, is searched for. */
  readonly deletedBeforeMs?: number;
}

/** The same, and whose it is. */
export interface TenantRange extends RangeRequest {
  readonly tenant: TenantId;
}

export interface RangeVerdict {
  readonly checkedEvents: number;
  /** Events whose content is removed under a notice. */
  readonly expiredEvents: number;
  /** Events with fields that are removed under a notice. */
  readonly redactedEvents: number;
  /** The size of the checkpoint used; 0, with the empty root, before the first one. */
  readonly treeSize: number;
  readonly rootHash: Uint8Array;
  /** In the tenant's sequence: the first event found whose content is stored although a signed notice deletes it. */
  readonly undeleted?: number | undefined;
  readonly fault?: {
    /** In the tenant's sequence. */
    readonly index: number | undefined;
    readonly reason: Reason;
    readonly message: string;
  };
}

export interface TreeReader {
  /**
   * The tenant's log if it holds the index, otherwise that of the next tenant by name that has entries; undefined at
   * the end. Without a tenant, the first.
   */
  nextLog(
    tenant: TenantId | undefined,
    index: number,
  ): Promise<{ readonly tenant: TenantId; readonly endIndex: number } | undefined>;
  forTenant(tenant: TenantId): TenantTrees;
}

/** For those who need some of it. */
export interface TreesWith<K extends keyof TenantTrees> {
  forTenant(tenant: TenantId): Pick<TenantTrees, K>;
}

/** The logs of one tenant, as trees. */
export interface TenantTrees {
  /** Recomputes entries and values of a range; a broken one is a verdict too. */
  checkRange(request: RangeRequest, onProgress: (checkedEvents: number) => void): Promise<RangeVerdict>;
  /** Reads back a portion of the spans. What cannot be proven is an answer too, and leaves the events beside it proven. */
  provenContents(request: ContentsRequest): Promise<ContentsPortion>;
  /** A portion of the notices that commit to records, over all logs of the tenant. Rejects where entries are missing. */
  recordNotices(request: NoticesRequest): Promise<NoticesPortion>;
  /** Undefined if there is no such event, or neither its stored nor its hashed classification is in `visible`. */
  proveEvent(request: ProofRequest): Promise<ProvenEvent | AlteredEvent | undefined>;
  /** For the current log; up to the newest checkpoint if no size is given. Undefined for an unknown tenant. */
  proveGrowth(from: number, to?: number): Promise<ProvenGrowth | undefined>;
  /** Searches `limit` checkpoints of a log, starting with the newest below a size. */
  cosigned(below: LogSize, limit: number): Promise<CosignedPortion>;
  /** For the events from `fromIndex` to `endIndex` (exclusive), in order; at most `limit`. */
  evidenceRange(fromIndex: number, endIndex: number, limit: number): Promise<StoredEvidence[]>;
  /**
   * The log that holds an index of the tenant's sequence; without an index, the current log. Undefined for an unknown
   * tenant.
   */
  tree(index?: number): Promise<LogTree | undefined>;
  /** The same log, with its newest checkpoint. */
  head(index?: number): Promise<LogHead | undefined>;
}
