// The growing tree of a log, kept as its perfect subtrees. It takes many leaves at a time: each level is hashed in one
// call, several nodes at once, which is not possible leaf by leaf.

import { ok as assert } from 'node:assert/strict';
import { CompactRange, HASH_BYTES, HashPool, NODE_PREFIX } from '@tallystick/evidence';

/** Called for every perfect subtree that becomes complete, above the leaves, level by level. */
export type OnComplete = (level: number, place: number, hash: Uint8Array) => void;

const NODE_BYTES = 1 + 2 * HASH_BYTES;

export class TreeStack {
  readonly #pool: HashPool;
  /** By level: the perfect subtree of that height at the right edge; undefined if the tree has none. */
  readonly #edge: (Uint8Array | undefined)[] = [];
  #size = 0;

  constructor(range: CompactRange, pool: HashPool) {
    assert(range.begin === 0, 'it is a whole tree');
    this.#pool = pool;
    this.#size = range.size;
    // From the right, the subtrees are those of the bits of the size.
    const hashes = range.hashes.toReversed();
    for (let level = 0, rest = range.size; rest > 0; level++, rest = Math.floor(rest / 2)) {
      this.#edge[level] = rest % 2 === 1 ? hashes.shift() : undefined;
    }
  }

  get size(): number {
    return this.#size;
  }

  root(): Uint8Array {
    const hashes = this.#edge.filter((hash) => hash !== undefined).toReversed();
    return CompactRange.restore({
      begin: 0,
      end: this.#size,
      bytes: Uint8Array.from(Buffer.concat(hashes)),
    }).root();
  }

  /** Takes concatenated leaf hashes. */
  append(leaves: Uint8Array, onComplete: OnComplete): void {
    const count = leaves.length / HASH_BYTES;
    assert(Number.isInteger(count), 'leaves are whole hashes');
    let hashes = leaves;
    let place = this.#size;
    this.#size += count;
    for (let level = 0; hashes.length > 0; level++) {
      // A left sibling from before joins the new nodes.
      if (place % 2 === 1) {
        hashes = Buffer.concat([this.#edge[level]!, hashes]);
        place -= 1;
      }
      const pairs = Math.floor(hashes.length / (2 * HASH_BYTES));
      const rest = hashes.subarray(pairs * 2 * HASH_BYTES);
      this.#edge[level] = rest.length === 0 ? undefined : Uint8Array.from(rest);
      hashes = this.#parents(hashes, pairs);
      place /= 2;
      for (let i = 0; i < pairs; i++) onComplete(level + 1, place + i, hashAt(hashes, i));
    }
  }

  #parents(hashes: Uint8Array, pairs: number): Uint8Array {
    const pool = this.#pool;
    pool.reset();
    const parentsAt = pool.room(pairs * HASH_BYTES);
    for (let i = 0; i < pairs; i++) {
      const at = pool.room(NODE_BYTES);
      pool.bytes[at] = NODE_PREFIX;
      pool.bytes.set(hashes.subarray(2 * i * HASH_BYTES, 2 * (i + 1) * HASH_BYTES), at + 1);
      pool.hash(at, NODE_BYTES, parentsAt + i * HASH_BYTES);
    }
    pool.run();
    return pool.bytes.slice(parentsAt, parentsAt + pairs * HASH_BYTES);
  }
}

function hashAt(hashes: Uint8Array, i: number): Uint8Array {
  return hashes.subarray(i * HASH_BYTES, (i + 1) * HASH_BYTES);
}
