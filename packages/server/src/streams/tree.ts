// The log as a Merkle tree: the port through which checkpoints are made, and the one through which checkpoints, tiles
// and proofs are read. Sizes and indexes here are those of one log under one origin; a tenant that went on after a
// restore has a new one, which begins at 0 again.

import type { Classification, EventId, StreamId, TenantId } from '@tallystick/contract';
import type { Checkpoint, IndexRange, Reason, Tile } from '@tallystick/evidence';
import type { Altered, Purged } from './log.ts';

/** A log's size and root: what a checkpoint says, before anybody has signed it. */
export type TreeHead = Checkpoint;

/** The hash of the full tile `place` of the level below. */
export interface TileHash {
  readonly level: number;
  readonly place: number;
  readonly hash: Uint8Array;
}

/** What a log has become since its last checkpoint, read back from the store and recomputed. */
export interface GrownLog {
  readonly tenant: TenantId;
  readonly epoch: number;
  /** Ascending: the end of every stream that was sealed, and the newest size. Each is signed before the next. */
  readonly heads: readonly TreeHead[];
  readonly tileHashes: readonly TileHash[];
  /** Another node signs it: it was only read because of `stopAt`. */
  readonly isElsewhere?: true;
}

/** A log that is not what was hashed: it is not signed, and nothing is built on it. */
export interface LogFault {
  readonly tenant: TenantId;
  readonly message: string;
}

export interface Growth {
  readonly grown: readonly GrownLog[];
  readonly faults: readonly LogFault[];
  /** There is more than was read this time. */
  readonly hasMore: boolean;
  /**
   * Logs that another node has signed until now, and that this one has taken over: to be held against what was anchored of
   * them before they are read.
   */
  readonly taken?: readonly Standing[];
}

export interface SignedCheckpoint {
  readonly size: number;
  readonly note: string;
}

/** What is stored of a grown log, in one commit. */
export interface PublishedLog {
  readonly tenant: TenantId;
  readonly epoch: number;
  readonly checkpoints: readonly SignedCheckpoint[];
  readonly tileHashes: readonly TileHash[];
}

/** A stored checkpoint with more signatures than it was stored with. */
export interface CosignedCheckpoint extends SignedCheckpoint {
  readonly tenant: TenantId;
  readonly epoch: number;
}

/** What the store has of a log that it is written to now. */
export interface Standing {
  readonly tenant: TenantId;
  readonly origin: string;
  readonly epoch: number;
  /** Of its first entry, in the tenant's sequence. */
  readonly firstIndex: number;
  readonly entries: number;
  readonly checkpoint: Pick<Checkpoint, 'size' | 'root'> | undefined;
  /** Why it cannot be told, where its rows cannot be read: then the rest says nothing, and it must not go on. */
  readonly fault?: string;
  /** Another node looks after it. */
  readonly isElsewhere?: true;
}

export interface TreeWriter {
  /** Every log that is written to now and has entries. Asked before anything is read. */
  standings(): Promise<Standing[]>;
  /** The head at exactly this size will be among those that `readGrowth` gives. */
  stopAt(tenant: TenantId, size: number): Promise<void>;
  /** Resolves once all that was read is as durable as what is acknowledged: it may be seen before its standby has it. */
  confirm(): Promise<void>;
  /**
   * Reads a portion of what was appended since the last checkpoints, and recomputes leaves, chain and roots from the
   * bytes that are stored. Asked again without `publish` between, it gives the same or more.
   */
  readGrowth(): Promise<Growth>;
  /**
   * Stores checkpoints and hashes of tiles; a size that is not larger than the newest stored one is left out. Gives those
   * logs of which so much is stored now: not those that another node has taken over meanwhile.
   */
  publish(logs: readonly PublishedLog[], nowMs: number): Promise<readonly PublishedLog[]>;
  /** How far logs are signed by now, by whichever node; of one process alone nothing need be asked, and nothing is said. */
  newestSizes(tenants: readonly TenantId[]): Promise<ReadonlyMap<TenantId, number>>;
  /**
   * Puts each note in the place of the stored one of exactly that size, in one commit. Of each: whether it is stored now.
   * Not, and nothing is changed, where there is none of that size, where the note has another text, or where it lacks
   * a signature that the stored one has.
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

/** The tree of one log. All of it is under a checkpoint: what is not is not there yet. */
export interface LogTree extends NamedLog {
  latest(): Promise<StoredCheckpoint | undefined>;
  /** The one of exactly this size. */
  checkpoint(size: number): Promise<StoredCheckpoint | undefined>;
  /** The bytes of a tile or of an entry bundle; undefined where the log has none of that width. */
  tile(tile: Tile): Promise<Uint8Array | undefined>;
  /** So many entries from an index of the log on, as they are stored, under a checkpoint or not. */
  entries(index: number, count: number): Promise<Uint8Array[]>;
  root(size: number): Promise<Uint8Array>;
  inclusion(leafIndex: number, size: number): Promise<Uint8Array[]>;
  consistency(from: number, to: number): Promise<Uint8Array[]>;
  /** For each range in turn, the roots of the fewest perfect subtrees that make it up. Ranges are in order. */
  subtrees(ranges: readonly IndexRange[]): Promise<Uint8Array[]>;
}

/** What an event is proven by. */
export interface StoredEvidence {
  /** In the tenant's sequence. */
  readonly index: number;
  readonly classification: Classification;
  /** The 116 bytes. */
  readonly entry: Uint8Array;
  readonly roots: readonly [Uint8Array, Uint8Array];
  /** Undefined where there is none, and no notice says why. */
  readonly content: OpenContent | Purged | undefined;
}

export interface OpenContent {
  readonly texts: readonly [string, string];
  /** Of each group, those of its units one behind the other, in the order of their tags. */
  readonly salts: readonly [Uint8Array, Uint8Array];
}

/** The log of a tenant in this epoch, at this size. */
export interface LogSize {
  readonly epoch: number;
  readonly size: number;
}

export interface ProofRequest {
  readonly eventId: EventId;
  readonly visible: readonly Classification[];
  /** Checkpoints of the tenant's logs; the one of the event's log is taken, if it covers the event. Else the newest. */
  readonly preferred: readonly LogSize[];
}

/** What one event is proven by, all of it from one state of the store. */
export interface ProvenEvent {
  readonly head: LogHead;
  readonly evidence: StoredEvidence;
  /** Undefined while no checkpoint covers the event. */
  readonly under:
    | { readonly checkpoint: StoredCheckpoint; readonly hashes: readonly Uint8Array[] }
    | undefined;
}

/** One that cannot be proven, because it is not what was hashed, or its log not what was signed. */
export interface AlteredEvent extends Altered {
  /** In the tenant's sequence. */
  readonly index: number;
}

/** What two sizes of a log are proven by, all of it from one state of the store. */
export interface ProvenGrowth {
  readonly head: LogHead;
  /** Undefined where the newest checkpoint does not cover both sizes, or the older one is the larger one. */
  readonly proof:
    | {
        readonly fromRoot: Uint8Array;
        readonly toRoot: Uint8Array;
        readonly hashes: readonly Uint8Array[];
        /** Of exactly the newer size. */
        readonly checkpoint: StoredCheckpoint | undefined;
      }
    | undefined;
}

/** A part of what checkpoints a log has, newest first. */
export interface CosignedPortion {
  /** Those that somebody besides the log has signed. */
  readonly cosigned: readonly StoredCheckpoint[];
  /** The smallest size that was looked at; undefined when there were none. */
  readonly lookedTo: number | undefined;
}

/** A part of a tenant's sequence; `endIndex` is the first outside. */
export interface RangeRequest {
  readonly tenant: TenantId;
  readonly fromIndex: number;
  readonly endIndex: number;
  /** The one that the range is all or a part of: it must begin and end where the log says. */
  readonly streamId?: StreamId;
  /** The checkpoint that it is held against must be signed by one of these, and by no other under the log's name. */
  readonly publicKeys: readonly Uint8Array[];
}

export interface RangeVerdict {
  readonly checkedEvents: number;
  /** Content gone, under a notice. */
  readonly expiredEvents: number;
  /** Some fields gone, under a notice. */
  readonly redactedEvents: number;
  /** Of the checkpoint that the range was held against; 0 and the empty root before the first one. */
  readonly treeSize: number;
  readonly rootHash: Uint8Array;
  readonly fault?: {
    /** In the tenant's sequence. */
    readonly index: number | undefined;
    readonly reason: Reason;
    readonly message: string;
  };
}

export interface TreeReader {
  /**
   * The tenant's log if it holds the index, else that of the tenant behind it by name, if it holds anything; undefined
   * at the end. Without a tenant, the first.
   */
  nextLog(
    tenant: TenantId | undefined,
    index: number,
  ): Promise<{ readonly tenant: TenantId; readonly endIndex: number } | undefined>;
  /** Recomputes entries and values of a range; a broken one is a verdict too. */
  checkRange(request: RangeRequest, onProgress: (checkedEvents: number) => void): Promise<RangeVerdict>;
  /** Undefined when there is no such event, or neither its classification nor the one that was hashed is among `visible`. */
  proveEvent(tenant: TenantId, request: ProofRequest): Promise<ProvenEvent | AlteredEvent | undefined>;
  /** Of the log that is written to now; to the newest checkpoint, where no size is given. Undefined for a tenant that is not there. */
  proveGrowth(tenant: TenantId, from: number, to?: number): Promise<ProvenGrowth | undefined>;
  /** Looks through so many checkpoints of a log, from the newest one below a size on. */
  cosigned(tenant: TenantId, below: LogSize, limit: number): Promise<CosignedPortion>;
  /** Of the events from `fromIndex` up to, not with, `endIndex`, in order; no more than `limit`. */
  evidenceRange(
    tenant: TenantId,
    fromIndex: number,
    endIndex: number,
    limit: number,
  ): Promise<StoredEvidence[]>;
  /**
   * The log that holds an index of the tenant's sequence; the one that is written to now, where none is asked for.
   * Undefined for a tenant that is not there.
   */
  tree(tenant: TenantId, index?: number): Promise<LogTree | undefined>;
  /** The same log, with its newest checkpoint. */
  head(tenant: TenantId, index?: number): Promise<LogHead | undefined>;
}
