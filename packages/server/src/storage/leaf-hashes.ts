// The leaves of many entries, hashed together in one pool, four at a time: for whoever recomputes a log from its stored
// bytes.

import { ENTRY_BYTES, HASH_BYTES, type HashPool, LEAF_PREFIX } from '@tallystick/evidence';

const LEAF_BYTES = 1 + ENTRY_BYTES;

/**
 * Returns where in the pool the leaves stand, one behind the other; they are there until the pool is used again. Each
 * entry is ENTRY_BYTES long.
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
