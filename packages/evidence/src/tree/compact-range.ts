// A range of leaves (leaf-range.ts) as a log keeps its head: it can be stored and restored, and has a root.
//
// As bytes: the hashes of the subtrees, left to right, 32 bytes each. `begin` and `end` are kept beside them.

import { concat } from '../bytes.ts';
import { malformed } from '../errors.ts';
import { LeafRange } from './leaf-range.ts';
import { foldRight, HASH_BYTES, subtreesOf } from './tree.ts';

export class CompactRange extends LeafRange {
  static of(begin: number, leaves: Iterable<Uint8Array>): CompactRange {
    const range = new CompactRange(begin);
    for (const leaf of leaves) range.append(leaf);
    return range;
  }

  static restore({ begin, end, bytes }: { begin: number; end: number; bytes: Uint8Array }): CompactRange {
    const count = subtreesOf({ begin, end }).length;
    if (bytes.length !== count * HASH_BYTES)
      throw malformed(`range ${begin} to ${end} is ${bytes.length} bytes, not ${count * HASH_BYTES}`);
    const hashAt = (i: number): Uint8Array => bytes.slice(i * HASH_BYTES, (i + 1) * HASH_BYTES);
    return new CompactRange(
      begin,
      end,
      Array.from({ length: count }, (_, i) => hashAt(i)),
    );
  }

  toBytes(): Uint8Array {
    return concat(...this.hashes);
  }

  /** The root of the tree, for a range that begins at leaf 0. Other ranges need a proof: see range-proof.ts. */
  root(): Uint8Array {
    if (this.begin !== 0) throw malformed(`range begins at leaf ${this.begin}; only a whole tree has a root`);
    return foldRight(this.hashes);
  }
}
