// The anchor: a memory of the heads that were signed, kept apart from the store, so that a store that was put back to an
// earlier state cannot go on as if nothing had happened. The anchored head of a log is never smaller than its stored
// checkpoint.

import type { Checkpoint } from '@tallystick/evidence';

/** A head that was signed: from now on the log of this origin is at least so large, and has this root there. */
export type AnchoredHead = Checkpoint;

export type AnchorHistory = ReadonlyMap<string, readonly AnchoredHead[]>;

/**
 * Where several nodes serve from one store, each anchors for itself, and a head is anchored that any of them has. Heads that
 * others have anchored since the last look are known after `refresh`.
 */
export interface Anchor extends AsyncDisposable {
  /** It is only being read, and there is none. A service makes it before it takes its first event. */
  readonly isMissing?: boolean;
  /**
   * The newest by origin. None at all is right for a store without checkpoints, and for any other the sign of an anchor that
   * was lost (unanchored.ts).
   */
  heads(): ReadonlyMap<string, AnchoredHead>;
  /** By origin, how two heads of one size were found anchored that have different roots: both were signed. */
  forks(): ReadonlyMap<string, string>;
  /** All that it still knows, by origin, ascending; older ones may have been forgotten. Of a fork both are there. */
  history(): Promise<AnchorHistory>;
  /** Reads what other nodes have anchored meanwhile; cheap where nothing is new. */
  refresh(): Promise<void>;
  /**
   * Resolves when all of them are durable. Heads of one origin stand in ascending order; one that is the newest already
   * is left out, and so is one that is smaller than what another node has anchored. Rejects, and anchors none of
   * them, if one is smaller than what this node has anchored, or as large as what any has and different. After any other
   * failure the heads may be anchored or not; the next append settles that first.
   */
  append(heads: readonly AnchoredHead[]): Promise<void>;
}

/** The part that reads. */
export type ReadAnchor = Omit<Anchor, 'append' | typeof Symbol.asyncDispose>;
