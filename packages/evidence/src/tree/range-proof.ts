// Range proofs: the leaves from a up to, not with, b are those of the tree with a given size and root. The
// proof is at most 2·log2(size) hashes, left to right, each used exactly once:
//
//   root(begin, end) = the next proof hash, if the range has no leaf in it
//                    = the leaf, if end - begin = 1
//                    = node( root(begin, middle), root(middle, end) ), split as the tree splits
//
// So an empty range proves the tree by its root alone; the empty tree has nothing to prove. Errors are those
// of tree-proof.ts. Leaves can come one at a time, into a LeafRange, and memory stays logarithmic.

import type { LeafRange } from './leaf-range.ts';
import { EvidenceError } from '../errors.ts';
import { EMPTY_ROOT, isCount, isHash, middleOf, nodeHash, type Span } from './tree.ts';

/** The root that the leaves of a range and their proof lead to. */
export function compactRangeRoot(range: LeafRange, size: number, proof: readonly Uint8Array[]): Uint8Array {
  const { begin, end } = range;
  if (!isRangeOf(range, size)) throw invalid(`tree of size ${size} has no range ${begin} to ${end}`);
  const count = outside(range, size).length;
  if (proof.length !== count) throw invalid(`range proof has ${proof.length} hashes, not ${count}`);
  if (!proof.every(isHash)) throw invalid('range proof has a hash not of 32 bytes');
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
export function outside(range: Span, size: number): Span[] {
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

export function isRangeOf({ begin, end }: Span, size: number): boolean {
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

function invalid(message: string): EvidenceError {
  return new EvidenceError('PROOF_INVALID', message);
}
