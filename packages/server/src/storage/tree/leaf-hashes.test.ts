import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ENTRY_BYTES, HASH_BYTES, HashPool, leafHash } from '@tallystick/evidence';
import { fastLeafHash, hashLeaves } from './leaf-hashes.ts';

test('gives the leaf of each entry, in order, for any number of entries and any earlier use of the pool', () => {
  const pool = new HashPool();
  for (const count of [0, 1, 5, 300, 3]) {
    const entries = Array.from({ length: count }, (_, i) => new Uint8Array(ENTRY_BYTES).fill(i));
    const leavesAt = hashLeaves(pool, count, (i) => entries[i]!);
    const found = entries.map((_, i) => pool.digest(leavesAt + i * HASH_BYTES));
    assert.deepEqual(found, entries.map(leafHash));
    assert.deepEqual(found, entries.map(fastLeafHash));
  }
});
