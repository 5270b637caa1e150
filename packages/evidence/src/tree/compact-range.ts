// A span of leaves that grows at its end, kept as the fewest perfect subtrees: at most 53 hashes for a whole
// tree (which begins at leaf 0), at most 2·53 for any other span. A log keeps its head as one; a verifier
// takes a bundle of any length in one, leaf by leaf.
//
// As bytes: the hashes of the subtrees, left to right, 32 bytes each. `begin` and `end` are kept beside them.

import { concat } from '../bytes.ts';
import { malformed } from '../errors.ts';
import { foldRight, HASH_BYTES, isCount, isHash, nodeHash, subtreesOf } from './tree.ts';

/** Called for every perfect subtree that a leaf completes, from the leaf itself upwards. */
export type OnComplete = (level: number, index: number, hash: Uint8Array) => void;

export class CompactRange {
  readonly begin: number;
  #end: number;
  readonly #hashes: Uint8Array[] = [];

  constructor(begin = 0) {
    if (!isCount(begin)) throw malformed(`range begins at leaf ${begin}`);
    this.begin = begin;
    this.#end = begin;
  }

  static of(begin: number, leaves: Iterable<Uint8Array>): CompactRange {
    const range = new CompactRange(begin);
    for (const leaf of leaves) range.append(leaf);
    return range;
  }

  static restore({ begin, end, bytes }: { begin: number; end: number; bytes: Uint8Array }): CompactRange {
    const range = new CompactRange(begin);
    const count = subtreesOf({ begin, end }).length;
    if (bytes.length !== count * HASH_BYTES)
      throw malformed(`range ${begin} to ${end} is ${bytes.length} bytes, not ${count * HASH_BYTES}`);
    for (let i = 0; i < count; i++) range.#hashes.push(bytes.slice(i * HASH_BYTES, (i + 1) * HASH_BYTES));
    range.#end = end;
    return range;
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

  copy(): CompactRange {
    return CompactRange.restore({ begin: this.begin, end: this.end, bytes: this.toBytes() });
  }

  toBytes(): Uint8Array {
    return concat(...this.#hashes);
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

  /** The root of the tree, for a range that begins at leaf 0. Other ranges need a proof: see range-proof.ts. */
  root(): Uint8Array {
    if (this.begin !== 0) throw malformed(`range begins at leaf ${this.begin}; only a whole tree has a root`);
    return foldRight(this.#hashes);
  }
}
