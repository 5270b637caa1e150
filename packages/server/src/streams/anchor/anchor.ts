// The anchor: a record of the signed heads, kept apart from the store, so that a store that was put back to an earlier
// state cannot continue unnoticed. An anchored head is never smaller than the stored one.

import type { Checkpoint } from '@tallystick/evidence';

/** A signed head: from now on the log of this origin has at least this size, and this root at this size. */
export type AnchoredHead = Checkpoint;

export type AnchorHistory = ReadonlyMap<string, readonly AnchoredHead[]>;

/**
 * Where several nodes serve one store, each node anchors for itself, and a head counts as anchored once any node has
 * anchored it. `refresh` reads the heads that other nodes have anchored.
 */
export interface Anchor extends AsyncDisposable {
  /** The anchor is opened for reading, and does not exist. A service creates it before it accepts its first event. */
  readonly isMissing?: boolean;
  /**
   * The newest head by origin. It is empty for a store without checkpoints; for any other store, empty means that the
   * anchor was lost (unanchored.ts).
   */
  heads(): ReadonlyMap<string, AnchoredHead>;
  /** By origin: a description of two anchored heads of one size with different roots. Both were signed. */
  forks(): ReadonlyMap<string, string>;
  /** All heads that are still known, by origin, ascending. Older ones may be dropped. Both heads of a fork are listed. */
  history(): Promise<AnchorHistory>;
  /** Reads the heads that other nodes have anchored; cheap when there are none. */
  refresh(): Promise<void>;
  /**
   * Resolves when all heads are durable. Heads of one origin are in ascending order. A head that is already the newest
   * is skipped, and so is one that is smaller than a head of another node. Rejects, and anchors nothing, if a head is
   * smaller than one of this node, or has the size of an anchored head and another root. After any other failure the
   * state is unknown; the next append resolves it first.
   */
  append(heads: readonly AnchoredHead[]): Promise<void>;
}

/** The part of an anchor that a comparison needs. */
export type ReadAnchor = Omit<Anchor, 'append' | typeof Symbol.asyncDispose>;
