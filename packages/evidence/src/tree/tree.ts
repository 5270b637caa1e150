// The Merkle tree of a log (RFC 6962, section 2.1), H = SHA-256:
//
//   root of no leaf = H( "" )      leaf = H( 0x00 ‖ entry )      node = H( 0x01 ‖ left ‖ right )
//
// A tree of n > 1 leaves splits at k, the largest power of two below n: the left side has k leaves. The
// subtree (level, index) is the perfect one over the leaves index·2^level up to, not with, (index+1)·2^level.
// Sizes and indexes go to 2^53 - 1, so that nothing here may use a 32-bit operator on them.

import { fromHex } from '../bytes.ts';
import { EvidenceError } from '../errors.ts';
import { sha256Prefixed } from '../hash/sha256.ts';

export const HASH_BYTES = 32;

export const EMPTY_ROOT: Uint8Array = fromHex(
  'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
);

export interface Subtree {
  readonly level: number;
  readonly index: number;
}

/** The leaves from `begin` up to, not with, `end`. */
export interface Span {
  readonly begin: number;
  readonly end: number;
}

/** Gives the hash of a perfect subtree. Makers of proofs read a stored tree through it. */
export type HashReader = (level: number, index: number) => Uint8Array;

export const LEAF_PREFIX = 0x00;
export const NODE_PREFIX = 0x01;

export function leafHash(entry: Uint8Array): Uint8Array {
  return sha256Prefixed(LEAF_PREFIX, entry);
}

/** Both must be hashes: who takes them from others looks first. */
export function nodeHash(left: Uint8Array, right: Uint8Array): Uint8Array {
  return sha256Prefixed(NODE_PREFIX, left, right);
}

export function isHash(bytes: Uint8Array): boolean {
  return bytes.length === HASH_BYTES;
}

/** True for what can be a size, an index or a bound: a whole number from 0 to 2^53 - 1. */
export function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}

/** Where a node over a span of two or more leaves divides: the first leaf of its right side. */
export function middleOf(span: Span): number {
  const width = span.end - span.begin;
  let left = 1;
  while (left * 2 < width) left *= 2;
  return span.begin + left;
}

/** The fewest perfect subtrees that make up a span, left to right. */
export function subtreesOf(span: Span): Subtree[] {
  requireSpan(span);
  const subtrees: Subtree[] = [];
  let at = span.begin;
  while (at < span.end) {
    let level = 0;
    let width = 1;
    while (at % (width * 2) === 0 && at + width * 2 <= span.end) {
      level++;
      width *= 2;
    }
    subtrees.push({ level, index: at / width });
    at += width;
  }
  return subtrees;
}

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

/** Joins perfect subtrees of falling size into one root. */
export function foldRight(hashes: readonly Uint8Array[]): Uint8Array {
  if (hashes.length === 0) return EMPTY_ROOT;
  return hashes.reduceRight((right, left) => nodeHash(left, right));
}

function requireSpan({ begin, end }: Span): void {
  if (!isCount(begin) || !isCount(end) || begin > end) {
    throw new EvidenceError('MALFORMED', `span of leaves is from ${begin} to ${end}`);
  }
}
