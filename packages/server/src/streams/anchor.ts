// The anchor: a memory of the heads that were signed, kept apart from the store, so that a store that was put back
// to an earlier state cannot go on as if nothing had happened. What is anchored is never smaller than what is stored.

import type { Checkpoint } from '@tallystick/evidence';

/** A head that was signed: from now on the log of this origin is at least so large, and has this root there. */
export type AnchoredHead = Checkpoint;

export type AnchorHistory = ReadonlyMap<string, readonly AnchoredHead[]>;

export interface Anchor extends AsyncDisposable {
  /**
   * Nothing was ever anchored here: right for a store without checkpoints, and for any other the sign of an anchor
   * that was lost. It stays so over restarts, until the first append.
   */
  readonly isNew: boolean;
  /** The newest by origin. */
  heads(): ReadonlyMap<string, AnchoredHead>;
  /** Reads what other nodes have anchored meanwhile; cheap where nothing is new. */
  refresh(): Promise<void>;
  /** All that it still knows, by origin, ascending; older ones may have been forgotten. */
  history(): Promise<AnchorHistory>;
  /**
   * Resolves when all of them are durable. Heads of one origin stand in ascending order, and one that is the newest
   * already is left out. Rejects, and anchors none of them, if one is smaller than what is anchored, or as large and
   * different. After any other failure it is not known what is anchored; the next append settles that first.
   */
  append(heads: readonly AnchoredHead[]): Promise<void>;
}
