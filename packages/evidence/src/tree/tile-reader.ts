// Proofs from stored tiles: a HashReader over the tiles of a tree of one size. It trusts what it is given;
// a wrong tile makes a proof that does not verify.

import { malformed } from '../errors.ts';
import { HashPool } from '../hash/hash-pool.ts';
import type { HashReader } from './prove.ts';
import { HASH_BYTES, isCount, NODE_PREFIX } from './tree.ts';
import { TILE_HEIGHT, type HashTile, tileWidth } from './tiles.ts';

/** Gives the bytes of a tile, which must not change afterwards: they are not copied. */
export type TileReader = (tile: HashTile) => Uint8Array;

/** 1 MB with all their nodes: plenty for one proof, and little enough for a long export. */
const TILES_KEPT_MAX = 64;

/**
 * The tiles used last, with the nodes that had to be hashed inside them, 16 KB each. A tile of one width never changes, so
 * one memory may serve many readers, of many sizes and logs: for callers that make proofs again and again.
 */
export class TileMemory {
  readonly #tilesMax: number;
  readonly #kept = new Map<string, HashReader>();

  constructor(tilesMax: number = TILES_KEPT_MAX) {
    this.#tilesMax = tilesMax;
  }

  /** The nodes of a tile of the log with this name, which is read only if it is not remembered. */
  nodes(log: string, tile: HashTile, readTile: TileReader): HashReader {
    const key = `${tile.level}/${tile.index}/${tile.width} ${log}`;
    const nodes = this.#kept.get(key) ?? tileNodes(readTile(tile), tile.width);
    // Last used, last out: a Map keeps the order in which keys were set.
    this.#kept.delete(key);
    this.#kept.set(key, nodes);
    if (this.#kept.size > this.#tilesMax) this.#kept.delete(this.#kept.keys().next().value!);
    return nodes;
  }
}

/** Remembers tiles for itself alone, unless it is given a memory to share and the name of its log in there. */
export function tileHashReader(
  size: number,
  readTile: TileReader,
  { memory, log }: { readonly memory: TileMemory; readonly log: string } = {
    memory: new TileMemory(),
    log: '',
  },
): HashReader {
  return (level, index) => {
    const nodes = memory.nodes(log, tileOf(level, index, size), readTile);
    const height = level % TILE_HEIGHT;
    return nodes(height, index % 2 ** (TILE_HEIGHT - height));
  };
}

/**
 * The tiles that a proof reads, each once, for stores that cannot be read synchronously: fetch these, then
 * make the proof. Found by making the proof over hashes that do not matter.
 */
export function tilesRead(size: number, prove: (read: HashReader) => unknown): HashTile[] {
  const tiles = new Map<string, HashTile>();
  const noHash = new Uint8Array(HASH_BYTES);
  prove((level, index) => {
    const tile = tileOf(level, index, size);
    tiles.set(`${tile.level}/${tile.index}`, tile);
    return noHash;
  });
  return [...tiles.values()];
}

/** The tile that a subtree's hash is in, or is made from: a subtree up to height 7 lies within one tile. */
function tileOf(level: number, index: number, size: number): HashTile {
  if (!isCount(size) || !isCount(level) || !isCount(index) || (index + 1) * 2 ** level > size)
    throw malformed(`tree of size ${size} has no subtree (${level}, ${index})`);
  const tileLevel = Math.floor(level / TILE_HEIGHT);
  const tileIndex = Math.floor(index / 2 ** (TILE_HEIGHT - (level % TILE_HEIGHT)));
  return { level: tileLevel, index: tileIndex, width: tileWidth(tileLevel, tileIndex, size) };
}

/** The nodes inside a tile, those of one height after the other. */
function tileNodes(bytes: Uint8Array, width: number): HashReader {
  if (bytes.length !== width * HASH_BYTES) throw malformed(`tile of width ${width} is ${bytes.length} bytes`);
  let heights: Uint8Array[] | undefined;
  return (height, index) => {
    const hashes = height === 0 ? bytes : (heights ??= hashUpwards(bytes))[height]!;
    return hashes.subarray(index * HASH_BYTES, (index + 1) * HASH_BYTES);
  };
}

let pool: HashPool | undefined;

/** By height, the hashes of all whole pairs, of all whole fours, and so on. A pool takes several at a time. */
function hashUpwards(leaves: Uint8Array): Uint8Array[] {
  pool ??= new HashPool();
  const heights = [leaves];
  for (let below = leaves; below.length >= 2 * HASH_BYTES; below = heights.at(-1)!) {
    const count = Math.floor(below.length / (2 * HASH_BYTES));
    pool.reset();
    const hashesAt = pool.room(count * HASH_BYTES);
    for (let i = 0; i < count; i++) {
      const at = pool.room(1 + 2 * HASH_BYTES);
      pool.bytes[at] = NODE_PREFIX;
      pool.bytes.set(below.subarray(2 * i * HASH_BYTES, 2 * (i + 1) * HASH_BYTES), at + 1);
      pool.hash(at, 1 + 2 * HASH_BYTES, hashesAt + i * HASH_BYTES);
    }
    pool.run();
    heights.push(pool.bytes.slice(hashesAt, hashesAt + count * HASH_BYTES));
  }
  return heights;
}
