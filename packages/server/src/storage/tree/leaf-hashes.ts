// The leaves of entries as the service hashes them: a single appended or read entry by WebAssembly, and the entries of
// a recomputed log in one pool, four at a time.

import { ENTRY_BYTES, fastSha256, HASH_BYTES, type HashPool, LEAF_PREFIX } from '@tallystick/evidence';

const PREFIX = Uint8Array.of(LEAF_PREFIX);

/** Returns the same as `leafHash`. */
export function fastLeafHash(entry: Uint8Array): Uint8Array {
  return fastSha256(PREFIX, entry);
}

const LEAF_BYTES = 1 + ENTRY_BYTES;

/**
 * Returns the offset of the concatenated leaves in the pool; they are valid until the pool is used again. Each entry is
 * ENTRY_BYTES long.
 */
export function hashLeaves(pool: HashPool, count: number, entryAt: (place: number) => Uint8Array): number {
  pool.reset();
  const leavesAt = pool.room(count * HASH_BYTES);
  for (let i = 0; i < count; i++) {
    const at = pool.room(LEAF_BYTES);
    pool.bytes[at] = LEAF_PREFIX;
    pool.bytes.set(entryAt(i), at + 1);
    pool.hash(at, LEAF_BYTES, leavesAt + i * HASH_BYTES);
  }
  pool.run();
  return leavesAt;
}
