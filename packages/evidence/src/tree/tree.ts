// The Merkle tree of a log (RFC 6962, section 2.1), H = SHA-256:
//
//   root of no leaf = H( "" )      leaf = H( 0x00 ‖ entry )      node = H( 0x01 ‖ left ‖ right )
//
// A tree of n > 1 leaves splits at k, the largest power of two below n: the left side has k leaves. The
// subtree (level, index) is the perfect one over the leaves index·2^level up to, not with, (index+1)·2^level.
// Sizes and indexes go to 2^53 - 1, so that nothing here may use a 32-bit operator on them.

import { malformed } from '../errors.ts';
import { sha256 } from '../hash/sha256.ts';

export const HASH_BYTES = 32;

export const EMPTY_ROOT = sha256();

export interface Subtree {
  readonly level: number;
  readonly index: number;
}

/** The leaves from `begin` up to, not with, `end`. */
export interface Span {
  readonly begin: number;
  readonly end: number;
}

export const LEAF_PREFIX = 0x00;
export const NODE_PREFIX = 0x01;
const LEAF = Uint8Array.of(LEAF_PREFIX);
const NODE = Uint8Array.of(NODE_PREFIX);

export function leafHash(entry: Uint8Array): Uint8Array {
  return sha256(LEAF, entry);
}

/** Both must be hashes: who takes them from others looks first. */
export function nodeHash(left: Uint8Array, right: Uint8Array): Uint8Array {
  return sha256(NODE, left, right);
}

export function isHash(bytes: Uint8Array): boolean {
  return bytes.length === HASH_BYTES;
}

/** True for what can be a size, an index or a bound: a whole number from 0 to 2^53 - 1. */
export function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}

/** Where a node over a span of two or more leaves divides: the first leaf of its right side. */
export function middleOf({ begin, end }: Span): number {
  let left = 1;
  while (left * 2 < end - begin) left *= 2;
  return begin + left;
}

/** The fewest perfect subtrees that make up a span, left to right. */
export function subtreesOf({ begin, end }: Span): Subtree[] {
  if (!isCount(begin) || !isCount(end) || begin > end)
    throw malformed(`span of leaves is from ${begin} to ${end}`);
  const subtrees: Subtree[] = [];
  let at = begin;
  while (at < end) {
    let level = 0;
    let width = 1;
    while (at % (width * 2) === 0 && at + width * 2 <= end) {
      level++;
      width *= 2;
    }
    subtrees.push({ level, index: at / width });
    at += width;
  }
  return subtrees;
}

/** Joins perfect subtrees of falling size into one root. */
export function foldRight(hashes: readonly Uint8Array[]): Uint8Array {
  if (hashes.length === 0) return EMPTY_ROOT;
  return hashes.reduceRight((right, left) => nodeHash(left, right));
}
