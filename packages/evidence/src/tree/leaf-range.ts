// A span of leaves that grows at its end, kept as the fewest perfect subtrees: at most 53 hashes for a whole
// tree (which begins at leaf 0), at most 2·53 for any other span. A verifier takes a bundle of any length in
// one, leaf by leaf.

import { malformed } from '../errors.ts';
import { HASH_BYTES, isCount, isHash, nodeHash } from './tree.ts';

/** Called for every perfect subtree that a leaf completes, from the leaf itself upwards. */
export type OnComplete = (level: number, index: number, hash: Uint8Array) => void;

export class LeafRange {
  readonly begin: number;
  /** The first leaf outside. */
  #end: number;
  readonly #hashes: Uint8Array[];

  /** `hashes` are those of the perfect subtrees from `begin` to `end`, left to right. */
  constructor(begin = 0, end = begin, hashes: readonly Uint8Array[] = []) {
    if (!isCount(begin)) throw malformed(`range begins at leaf ${begin}`);
    this.begin = begin;
    this.#end = end;
    this.#hashes = [...hashes];
  }

  get end(): number {
    return this.#end;
  }

  /** How many leaves it holds; for a whole tree, the size of the tree. */
  get size(): number {
    return this.#end - this.begin;
  }

  /** The hashes of its perfect subtrees, left to right. */
  get hashes(): readonly Uint8Array[] {
    return this.#hashes;
  }

  append(leaf: Uint8Array, onComplete?: OnComplete): void {
    if (!isHash(leaf)) throw malformed(`leaf hash is ${leaf.length} bytes, not ${HASH_BYTES}`);
    if (this.#end === Number.MAX_SAFE_INTEGER) throw malformed('tree has 2^53 - 1 leaves');
    let hash = leaf;
    let level = 0;
    let index = this.#end;
    let width = 1;
    onComplete?.(level, index, hash);
    // A right child joins the left one, unless that lies before the range.
    while (index % 2 === 1 && (index - 1) * width >= this.begin) {
      hash = nodeHash(this.#hashes.pop()!, hash);
      level++;
      index = (index - 1) / 2;
      width *= 2;
      onComplete?.(level, index, hash);
    }
    this.#hashes.push(hash);
    this.#end++;
  }
}
