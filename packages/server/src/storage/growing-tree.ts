// One log as it is read back on its way to a checkpoint: leaves, chain and tree are recomputed from the stored bytes,
// and nothing that the store says of itself is believed. Every backend signs only what has gone through here. What has
// been read stays pending until it is published, so that asking again after a failure gives the same and more.

import { ok as assert } from 'node:assert/strict';
import {
  CompactRange,
  decodeEntry,
  ENTRY_BYTES,
  EvidenceError,
  HASH_BYTES,
  HashPool,
  KINDS,
  TILE_WIDTH,
} from '@tallystick/evidence';
import type { TileHash, TreeHead } from '../streams/tree.ts';

/** An entry as the store has it. */
export interface StoredEntry {
  readonly entry: Uint8Array;
  readonly leaf: Uint8Array;
}

/** What follows from a published checkpoint, or from nothing. */
export interface TreeState {
  readonly origin: string;
  readonly range: CompactRange;
  /** The leaf that the next entry must name: the last one, or genesis. */
  readonly previous: Uint8Array;
}

const LEAF_BYTES = 1 + ENTRY_BYTES;
const LEAF_PREFIX = 0x00;
/** The levels of a tree whose hashes stand in tiles. */
const TILE_HEIGHT = Math.log2(TILE_WIDTH);

export class GrowingTree {
  readonly #origin: string;
  readonly #range: CompactRange;
  readonly #pool: HashPool;
  #previous: Uint8Array;
  /** Sizes at which a head is wanted beside the ends of streams. */
  readonly #stops = new Set<number>();
  #heads: TreeHead[] = [];
  #tileHashes: TileHash[] = [];

  /** `pool` may be shared among trees, one at a time. */
  constructor({ origin, range, previous }: TreeState, pool = new HashPool()) {
    this.#origin = origin;
    this.#range = range;
    this.#previous = previous;
    this.#pool = pool;
  }

  get size(): number {
    return this.#range.size;
  }

  /** The head at exactly this size will be among those that are given. */
  stopAt(size: number): void {
    if (size > this.size) this.#stops.add(size);
  }

  /** The entries that follow, in order; throws EvidenceError at the first that is not what was hashed. */
  take(entries: readonly StoredEntry[]): void {
    const leavesAt = this.#hashLeaves(entries);
    for (const [i, { entry, leaf }] of entries.entries()) {
      const index = this.size;
      const computed = this.#pool.digest(leavesAt + i * HASH_BYTES);
      if (!isSame(computed, leaf)) throw fault('LEAF_MISMATCH', index, 'is not what was hashed');
      const { kind, index: own, previous } = decodeEntry(entry);
      if (own !== index) throw fault('INDEX_MISMATCH', index, `says that it is entry ${own}`);
      if (!isSame(previous, this.#previous)) {
        throw fault('CHAIN_BROKEN', index, 'does not name the leaf before it');
      }
      this.#range.append(computed, (level, place, hash) => {
        if (level > 0 && level % TILE_HEIGHT === 0) {
          this.#tileHashes.push({ level: level / TILE_HEIGHT, place, hash });
        }
      });
      this.#previous = computed;
      if (kind === KINDS.streamSeal || this.#stops.delete(this.size)) this.#heads.push(this.#head());
    }
  }

  /** What is not published yet: heads with the newest one last, and the hashes of the tiles that are full now. */
  pending(): { readonly heads: readonly TreeHead[]; readonly tileHashes: readonly TileHash[] } {
    const isAtStop = this.#heads.at(-1)?.size === this.size;
    const heads = isAtStop ? [...this.#heads] : [...this.#heads, this.#head()];
    return { heads, tileHashes: [...this.#tileHashes] };
  }

  /** All up to this size is stored. */
  published(size: number): void {
    assert(size <= this.size, 'what is published has been read');
    this.#heads = this.#heads.filter((head) => head.size > size);
    this.#tileHashes = this.#tileHashes.filter(
      ({ level, place }) => (place + 1) * TILE_WIDTH ** level > size,
    );
  }

  #head(): TreeHead {
    return { origin: this.#origin, size: this.size, root: this.#range.root() };
  }

  /** All at once, four at a time; returns where in the pool their hashes are. */
  #hashLeaves(entries: readonly StoredEntry[]): number {
    const pool = this.#pool;
    pool.reset();
    const leavesAt = pool.room(entries.length * HASH_BYTES);
    for (const [i, { entry }] of entries.entries()) {
      if (entry.length !== ENTRY_BYTES) {
        throw fault('MALFORMED', this.size + i, `is ${entry.length} bytes, not ${ENTRY_BYTES}`);
      }
      const at = pool.room(LEAF_BYTES);
      pool.bytes[at] = LEAF_PREFIX;
      pool.bytes.set(entry, at + 1);
      pool.hash(at, LEAF_BYTES, leavesAt + i * HASH_BYTES);
    }
    pool.run();
    return leavesAt;
  }
}

function isSame(one: Uint8Array, other: Uint8Array): boolean {
  return Buffer.compare(one, other) === 0;
}

function fault(reason: EvidenceError['reason'], index: number, why: string): EvidenceError {
  return new EvidenceError(reason, `entry ${index} ${why}`, { index });
}
