// Nodes are processes that serve from one store, all of them equal: each takes every request, and each looks after a part of
// the logs in the loops that sign, seal and index them. Leases decide which part: a node that is silent for a while
// loses its own, and the others take them over. This is the port through which a node takes part; a store of a single process
// has none.

import type { TenantId } from '@tallystick/contract';

/** A hint from another node, so that this one need not wait for its next look. A missed hint only costs that time. */
export type News = 'Appended' | 'CheckpointWanted' | 'Published' | 'SharesFreed';

export interface NodeState {
  readonly name: string;
  readonly version: string;
  readonly startedAtMs: number;
  /** When it was last heard of, by the clock of the store. */
  readonly seenAtMs: number;
  /** Not heard of for so long that others have its part. */
  readonly isGone: boolean;
  /** It makes checkpoints; or it would, if it had logs to look after. */
  readonly isAble: boolean;
  /** How many of the shares into which logs are divided it looks after. */
  readonly shares: number;
  readonly isSelf: boolean;
}

/** The state of all nodes, as this one sees it. */
export interface Beat {
  readonly nodes: readonly NodeState[];
  /** Logs that other nodes have found to be other than what was signed, and why. */
  readonly refusedElsewhere: ReadonlyMap<TenantId, string>;
  /** It has a share that it had not before. */
  readonly hasGained: boolean;
}

/** The report of a node about itself. */
export interface NodeWord {
  /** Logs that it has found to be other than what was signed, and why. */
  readonly refused: ReadonlyMap<TenantId, string>;
  readonly isAble: boolean;
}

export interface Nodes {
  /**
   * Reports that this node is alive and its state, renews its shares, takes free ones up to its part, and gives up those
   * beyond it. A node that cannot make checkpoints gives up all of them, as long as others can.
   */
  beat(word: NodeWord): Promise<Beat>;
  /** Gives up everything. Nothing may be under way by then. */
  leave(): Promise<void>;
  /** Sends the hint soon, together with others of about the same time, and each only once. */
  tell(news: News): void;
  /** Adds a listener for hints from other nodes. */
  onTold(listener: (news: News) => void): void;
}
