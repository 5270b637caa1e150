// For tests: a range proof over leaves that are all at hand.

import { equalBytes } from '../bytes.ts';
import { EvidenceError } from '../errors.ts';
import { CompactRange } from '../tree/compact-range.ts';
import { compactRangeRoot } from '../tree/range-proof.ts';
import { isCount } from '../tree/tree.ts';

export interface RangeProof {
  leaves: Iterable<Uint8Array>;
  from: number;
  size: number;
  proof: readonly Uint8Array[];
  root: Uint8Array;
}

/** Throws unless the leaves stand at `from` and on in the tree with that size and root. */
export function verifyRange({ leaves, from, size, proof, root }: RangeProof): void {
  if (!equalBytes(rangeRoot(leaves, from, size, proof), root)) {
    throw new EvidenceError(
      'ROOT_MISMATCH',
      `leaves from ${from} on do not lead to the root of size ${size}`,
    );
  }
}

/** The root that leaves and their proof lead to. */
export function rangeRoot(
  leaves: Iterable<Uint8Array>,
  from: number,
  size: number,
  proof: readonly Uint8Array[],
): Uint8Array {
  if (!isCount(from)) throw new EvidenceError('PROOF_INVALID', `range begins at leaf ${from}`);
  return compactRangeRoot(CompactRange.of(from, leaves), size, proof);
}
