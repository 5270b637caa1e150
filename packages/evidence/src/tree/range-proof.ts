// Range proofs: the leaves from a up to, not with, b are those of the tree with a given size and root. The
// proof is at most 2·log2(size) hashes, left to right, each used exactly once:
//
//   root(begin, end) = the next proof hash, if the range has no leaf in it
//                    = the leaf, if end - begin = 1
//                    = node( root(begin, middle), root(middle, end) ), split as the tree splits
//
// So an empty range proves the tree by its root alone; the empty tree has nothing to prove. Errors are those
// of tree-proof.ts. Leaves can come one at a time, into a CompactRange, and memory stays logarithmic.

import { equalBytes } from '../bytes.ts';
import { CompactRange } from './compact-range.ts';
import { EvidenceError } from '../errors.ts';
import {
  EMPTY_ROOT,
  type HashReader,
  isCount,
  isHash,
  middleOf,
  nodeHash,
  type Span,
  spanRoot,
} from './tree.ts';

export interface RangeProof {
  leaves: Iterable<Uint8Array>;
  from: number;
  size: number;
  proof: readonly Uint8Array[];
  root: Uint8Array;
}

export function proveRange(from: number, to: number, size: number, read: HashReader): Uint8Array[] {
  const range = { begin: from, end: to };
  if (!isRangeOf(range, size)) {
    throw new EvidenceError('MALFORMED', `tree of size ${size} has no range ${from} to ${to}`);
  }
  return outside(range, size).map((span) => spanRoot(span, read));
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

/** The same for leaves that were appended to a CompactRange as they came. */
export function compactRangeRoot(
  range: CompactRange,
  size: number,
  proof: readonly Uint8Array[],
): Uint8Array {
  if (!isRangeOf(range, size)) {
    throw new EvidenceError(
      'PROOF_INVALID',
      `tree of size ${size} has no range ${range.begin} to ${range.end}`,
    );
  }
  const count = outside(range, size).length;
  if (proof.length !== count) {
    throw new EvidenceError('PROOF_INVALID', `range proof has ${proof.length} hashes, not ${count}`);
  }
  if (!proof.every(isHash))
    throw new EvidenceError('PROOF_INVALID', 'range proof has a hash not of 32 bytes');
  if (size === 0) return EMPTY_ROOT;
  const proofHashes = proof.values();
  const rangeHashes = range.hashes.values();
  const rootOf = (node: Span): Uint8Array => {
    if (isApart(node, range)) return proofHashes.next().value!;
    // A perfect node inside the range is one of its subtrees: no leaf below it needs to be kept.
    if (isWithin(node, range) && isPerfect(node)) return rangeHashes.next().value!;
    const middle = middleOf(node);
    const left = rootOf({ begin: node.begin, end: middle });
    return nodeHash(left, rootOf({ begin: middle, end: node.end }));
  };
  return rootOf({ begin: 0, end: size });
}

/** The nodes that a range has no leaf in, left to right: each is one hash of its proof. */
function outside(range: Span, size: number): Span[] {
  const spans: Span[] = [];
  const visit = (node: Span): void => {
    if (isApart(node, range)) {
      spans.push(node);
    } else if (!isWithin(node, range)) {
      const middle = middleOf(node);
      visit({ begin: node.begin, end: middle });
      visit({ begin: middle, end: node.end });
    }
  };
  if (size > 0) visit({ begin: 0, end: size });
  return spans;
}

function isRangeOf({ begin, end }: Span, size: number): boolean {
  return isCount(begin) && isCount(end) && isCount(size) && begin <= end && end <= size;
}

function isApart(node: Span, range: Span): boolean {
  return range.begin === range.end || node.end <= range.begin || range.end <= node.begin;
}

function isWithin(node: Span, range: Span): boolean {
  return range.begin <= node.begin && node.end <= range.end;
}

function isPerfect(node: Span): boolean {
  const width = node.end - node.begin;
  return width === 1 || middleOf(node) - node.begin === width / 2;
}
