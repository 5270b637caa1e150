// Makers of what tree-proof.ts and range-proof.ts check, over a stored tree. Maker and checker walk the same path, so each is
// the other's explanation. Makers throw MALFORMED for what the tree does not have.

import { malformed } from '../errors.ts';
import { isRangeOf, outside } from './range-proof.ts';
import { foldRight, type Span, subtreesOf } from './tree.ts';
import { consistencyPath, inclusionPath, isGrowth, isLeafOf } from './tree-proof.ts';

/** Gives the hash of a perfect subtree. Makers of proofs read a stored tree through it. */
export type HashReader = (level: number, index: number) => Uint8Array;

/** The hashes of the perfect subtrees that make up a span: what a purge notice says of what it covers. */
export function subtreeHashes(span: Span, read: HashReader): Uint8Array[] {
  return subtreesOf(span).map(({ level, index }) => read(level, index));
}

/** The root of a tree of `size` leaves. */
export function treeRoot(size: number, read: HashReader): Uint8Array {
  return spanRoot({ begin: 0, end: size }, read);
}

/** The hash of the tree's node over a span. Only spans that come from dividing by `middleOf` have a node. */
export function spanRoot(span: Span, read: HashReader): Uint8Array {
  return foldRight(subtreeHashes(span, read));
}

export function proveInclusion(index: number, size: number, read: HashReader): Uint8Array[] {
  if (!isLeafOf(index, size)) throw malformed(`tree of size ${size} has no leaf ${index}`);
  return inclusionPath(index, size).map((sibling) => spanRoot(sibling, read));
}

export function proveConsistency(from: number, to: number, read: HashReader): Uint8Array[] {
  if (!isGrowth(from, to)) throw malformed(`no consistency proof goes from size ${from} to ${to}`);
  const { node, siblings } = consistencyPath(from, to);
  return [...(node.begin === 0 ? [] : [node]), ...siblings].map((span) => spanRoot(span, read));
}

export function proveRange(from: number, to: number, size: number, read: HashReader): Uint8Array[] {
  const range = { begin: from, end: to };
  if (!isRangeOf(range, size)) throw malformed(`tree of size ${size} has no range ${from} to ${to}`);
  return outside(range, size).map((span) => spanRoot(span, read));
}

/**
 * The proof of a range that is not empty, out of the proofs that its first and its last leaf are in the tree: what is to the left of
 * the one, and to the right of the other.
 */
export function proveRangeBetween(
  { begin, end }: Span,
  size: number,
  [first, last]: readonly [readonly Uint8Array[], readonly Uint8Array[]],
): Uint8Array[] {
  const [before, behind] = [inclusionPath(begin, size), inclusionPath(end - 1, size)];
  const left = first.filter((_, i) => before[i]!.side === 'left').toReversed();
  return [...left, ...last.filter((_, i) => behind[i]!.side === 'right')];
}
