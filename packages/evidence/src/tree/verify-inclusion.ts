// The inclusion proof of one leaf, checked against a root that is at hand; see tree-proof.ts.

import { equalBytes } from '../bytes.ts';
import { EvidenceError } from '../errors.ts';
import { inclusionRoot } from './tree-proof.ts';

export interface InclusionProof {
  leaf: Uint8Array;
  index: number;
  size: number;
  proof: readonly Uint8Array[];
  root: Uint8Array;
}

/** Throws unless the leaf stands at the index of the tree with that size and root. */
export function verifyInclusion({ leaf, index, size, proof, root }: InclusionProof): void {
  if (equalBytes(inclusionRoot(leaf, index, size, proof), root)) return;
  throw new EvidenceError('ROOT_MISMATCH', `leaf ${index} does not lead to the root of size ${size}`, {
    index,
  });
}
