// Inclusion and consistency proofs (RFC 6962, sections 2.1.1 and 2.1.2). A proof is a list of hashes, the
// one next to the leaf first; prove.ts makes them.
//
// Checkers throw PROOF_INVALID if the numbers are impossible or the proof has not exactly the hashes that
// they ask for, and ROOT_MISMATCH if it has and does not lead to the root. The tree size is bound to its root
// by the checkpoint, not by a proof: a proof may fit a few neighbouring sizes.

import { equalBytes } from '../bytes.ts';
import { EvidenceError } from '../errors.ts';
import { HASH_BYTES, isCount, middleOf, nodeHash, type Span } from './tree.ts';

/** A node beside the path from the root to where a proof starts. */
interface Sibling extends Span {
  readonly side: 'left' | 'right';
}

interface Path {
  readonly node: Span;
  readonly siblings: readonly Sibling[];
}

/** The root that the leaf and the proof lead to. */
export function inclusionRoot(
  leaf: Uint8Array,
  index: number,
  size: number,
  proof: readonly Uint8Array[],
): Uint8Array {
  if (!isLeafOf(index, size))
    throw new EvidenceError('PROOF_INVALID', `tree of size ${size} has no leaf ${index}`, { index });
  const path = inclusionPath(index, size);
  requireHashes(proof, path.length);
  requireHashes([leaf], 1);
  return path.reduce((hash, sibling, i) => join(hash, proof[i]!, sibling.side), leaf);
}

export function isLeafOf(index: number, size: number): boolean {
  return isCount(index) && isCount(size) && index < size;
}

/** The siblings of a leaf and of the nodes above it, from the leaf up. */
export function inclusionPath(index: number, size: number): readonly Sibling[] {
  return descend(size, index, (node) => node.end - node.begin === 1).siblings;
}

export interface ConsistencyProof {
  from: number;
  fromRoot: Uint8Array;
  to: number;
  toRoot: Uint8Array;
  proof: readonly Uint8Array[];
}

/** Throws unless the tree `to` begins with the leaves of the tree `from`. From size 0 nothing is proven. */
export function verifyConsistency({ from, fromRoot, to, toRoot, proof }: ConsistencyProof): void {
  if (!isGrowth(from, to))
    throw new EvidenceError('PROOF_INVALID', `no consistency proof goes from size ${from} to ${to}`);
  const { node, siblings } = consistencyPath(from, to);
  // Where the old tree is itself a node of the new one, its root is known and the proof leaves it out.
  const start = node.begin === 0 ? [fromRoot] : [];
  requireHashes(proof, siblings.length + 1 - start.length);
  const [first, ...beside] = [...start, ...proof];
  let oldRoot = first!;
  let newRoot = first!;
  siblings.forEach((sibling, i) => {
    newRoot = join(newRoot, beside[i]!, sibling.side);
    if (sibling.side === 'left') oldRoot = join(oldRoot, beside[i]!, 'left');
  });
  const missed = !equalBytes(oldRoot, fromRoot) ? from : !equalBytes(newRoot, toRoot) ? to : undefined;
  if (missed === undefined) return;
  throw new EvidenceError('ROOT_MISMATCH', `proof does not lead to the root of size ${missed}`);
}

export function isGrowth(from: number, to: number): boolean {
  return isCount(from) && isCount(to) && from > 0 && from <= to;
}

/** The last node that both trees have whole, and the siblings from it up. */
export function consistencyPath(from: number, to: number): Path {
  return descend(to, from - 1, (node) => node.end === from);
}

/** Goes from the root towards a leaf until it has arrived; the siblings are those passed, lowest first. */
function descend(size: number, leaf: number, hasArrived: (node: Span) => boolean): Path {
  let node: Span = { begin: 0, end: size };
  const siblings: Sibling[] = [];
  while (!hasArrived(node)) {
    const middle = middleOf(node);
    const left = { begin: node.begin, end: middle };
    const right = { begin: middle, end: node.end };
    siblings.push(leaf < middle ? { ...right, side: 'right' } : { ...left, side: 'left' });
    node = leaf < middle ? left : right;
  }
  return { node, siblings: siblings.toReversed() };
}

function join(hash: Uint8Array, sibling: Uint8Array, side: 'left' | 'right'): Uint8Array {
  return side === 'left' ? nodeHash(sibling, hash) : nodeHash(hash, sibling);
}

/** Each hash that is asked for, and no other: a spare one would make a proof that has two texts. */
function requireHashes(hashes: readonly Uint8Array[], count: number): void {
  if (hashes.length !== count)
    throw new EvidenceError('PROOF_INVALID', `proof has ${hashes.length} hashes, not ${count}`);
  for (const { length } of hashes)
    if (length !== HASH_BYTES) throw new EvidenceError('PROOF_INVALID', `hash is ${length} bytes, not 32`);
}
