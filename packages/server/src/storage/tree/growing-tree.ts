// One log as it is read back for a checkpoint: leaves, chain and tree are recomputed from the stored bytes, and no
// other column is trusted. Every backend signs only what this class has checked. Entries that were read stay pending
// until they are published, so that a retry after a failure returns the same and more.

import { ok as assert } from 'node:assert/strict';
import {
  type CompactRange,
  ENTRY_BYTES,
  EvidenceError,
  HASH_BYTES,
  HashPool,
  KINDS,
  readLink,
  TILE_HEIGHT,
  TILE_WIDTH,
} from '@tallystick/evidence';
import type { TileHash, TreeHead } from '../../streams/tree.ts';
import { hashLeaves } from './leaf-hashes.ts';
import { TreeStack } from './tree-stack.ts';

/** The state at a published checkpoint, or of an empty log. */
export interface TreeState {
  readonly origin: string;
  readonly range: CompactRange;
  /** The leaf that the next entry must name: the last one, or genesis. */
  readonly previous: Uint8Array;
}

/** An entry followed by its leaf, as they are stored. */
export const ROW_BYTES = ENTRY_BYTES + HASH_BYTES;

/** The number of rows hashed at once: enough to fill the lanes, few enough to stay in cache. */
const LOT_ROWS = 512;

export class GrowingTree {
  readonly #origin: string;
  readonly #stack: TreeStack;
  readonly #pool: HashPool;
  #previous: Uint8Array;
  /** Sizes at which a head is wanted besides the ends of streams. */
  readonly #stops = new Set<number>();
  #heads: TreeHead[] = [];
  #tileHashes: TileHash[] = [];

  /** `pool` may be shared among trees, one at a time. */
  constructor({ origin, range, previous }: TreeState, pool = new HashPool()) {
    this.#origin = origin;
    this.#stack = new TreeStack(range, pool);
    this.#previous = previous;
    this.#pool = pool;
  }

  get size(): number {
    return this.#stack.size;
  }

  /** Makes `pending` include the head at exactly this size. */
  stopAt(size: number): void {
    if (size > this.size) this.#stops.add(size);
  }

  /** Adds the next rows, in order; throws EvidenceError at the first that does not match its hash. */
  take(rows: Uint8Array): void {
    assert(rows.length % ROW_BYTES === 0, 'rows are whole');
    for (let at = 0; at < rows.length; at += LOT_ROWS * ROW_BYTES) {
      this.#takeLot(rows.subarray(at, at + LOT_ROWS * ROW_BYTES));
    }
  }

  /** The unpublished part: heads with the newest last, and the hashes of the tiles that are full now. */
  pending(): { readonly heads: readonly TreeHead[]; readonly tileHashes: readonly TileHash[] } {
    const isAtStop = this.#heads.at(-1)?.size === this.size;
    const heads = isAtStop ? [...this.#heads] : [...this.#heads, this.#head()];
    return { heads, tileHashes: [...this.#tileHashes] };
  }

  /** Everything up to this size is stored. */
  published(size: number): void {
    assert(size <= this.size, 'what is published has been read');
    this.#heads = this.#heads.filter((head) => head.size > size);
    this.#tileHashes = this.#tileHashes.filter(
      ({ level, place }) => (place + 1) * TILE_WIDTH ** level > size,
    );
  }

  #takeLot(rows: Uint8Array): void {
    const count = rows.length / ROW_BYTES;
    const leaves = this.#leavesOf(rows, count);
    const first = this.size;
    let taken = 0;
    const joinUpTo = (end: number) => {
      this.#stack.append(leaves.subarray(taken * HASH_BYTES, end * HASH_BYTES), this.#onComplete);
      taken = end;
    };
    for (let i = 0; i < count; i++) {
      const index = first + i;
      const at = i * ROW_BYTES;
      const leaf = leaves.subarray(i * HASH_BYTES, (i + 1) * HASH_BYTES);
      if (!isAt(rows, at + ENTRY_BYTES, leaf)) throw fault('LEAF_MISMATCH', index, 'is not what was hashed');
      const link = readLink(rows, at);
      if (link.index !== index) throw fault('INDEX_MISMATCH', index, `says that it is entry ${link.index}`);
      if (!isAt(rows, at + link.previousAt, this.#previous)) {
        throw fault('CHAIN_BROKEN', index, 'does not name the leaf before it');
      }
      this.#previous = leaf;
      if (link.kind !== KINDS.streamSeal && !this.#stops.delete(index + 1)) continue;
      joinUpTo(i + 1);
      this.#heads.push(this.#head());
    }
    joinUpTo(count);
  }

  readonly #onComplete = (level: number, place: number, hash: Uint8Array): void => {
    if (level % TILE_HEIGHT !== 0) return;
    this.#tileHashes.push({ level: level / TILE_HEIGHT, place, hash: Uint8Array.from(hash) });
  };

  #head(): TreeHead {
    return { origin: this.#origin, size: this.size, root: this.#stack.root() };
  }

  #leavesOf(rows: Uint8Array, count: number): Uint8Array {
    const pool = this.#pool;
    const leavesAt = hashLeaves(pool, count, (i) =>
      rows.subarray(i * ROW_BYTES, i * ROW_BYTES + ENTRY_BYTES),
    );
    return pool.bytes.slice(leavesAt, leavesAt + count * HASH_BYTES);
  }
}

/** Whether the bytes at this offset equal `wanted`. */
function isAt(bytes: Uint8Array, at: number, wanted: Uint8Array): boolean {
  for (let i = 0; i < wanted.length; i++) if (bytes[at + i] !== wanted[i]) return false;
  return true;
}

function fault(reason: EvidenceError['reason'], index: number, why: string): EvidenceError {
  return new EvidenceError(reason, `entry ${index} ${why}`, { index });
}
