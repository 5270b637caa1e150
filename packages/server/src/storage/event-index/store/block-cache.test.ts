// What the cache of blocks keeps, and what it reads again.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSystemRandom } from '../../../runtime/random.ts';
import { allOf } from '../segments/searched.ts';
import { BlockCache } from './block-cache.ts';
import { BlockKeys, encodeBlock } from './block-codec.ts';
import type { WantedBlock } from './segment-store.ts';

const RAW_BYTES = 1000;
const keys = new BlockKeys(new Uint8Array(32));

function cacheOf(bytesMax: number) {
  const read: number[] = [];
  const random = createSystemRandom();
  const stored = ({ segment, block }: WantedBlock) => {
    read.push(block);
    const place = { tenant: 'acme', segment, block, section: undefined };
    return encodeBlock(Buffer.alloc(RAW_BYTES, block), place, { keys, random });
  };
  const cache = new BlockCache({ get: (_tenant, wanted) => wanted.map(stored) }, bytesMax);
  return { blocks: cache.blocksOf('acme', 1, keys), read };
}

test('blocks that stay bytes count as such, and the longest unused goes first', async () => {
  const { blocks, read } = cacheOf(3 * RAW_BYTES);
  const ask = async (block: number) =>
    assert.equal((await blocks.read(block, undefined, (raw) => raw))[0], block);
  for (const block of [1, 2, 3, 1, 4, 1, 3, 2]) await ask(block);
  assert.deepEqual(read, [1, 2, 3, 4, 2]);
});

test('numbers count as many bytes as they have, and texts more than they were decoded from', async () => {
  const { blocks, read } = cacheOf(8 * RAW_BYTES);
  const asNumbers = (block: number) => blocks.read(block, undefined, (raw) => Float64Array.from(raw));
  for (const block of [1, 2, 1]) await asNumbers(block);
  const asTexts = (block: number) => blocks.read(block, undefined, (raw) => [raw.toString('latin1')]);
  for (const block of [3, 4, 3, 4, 5, 3]) await asTexts(block);
  assert.deepEqual(read, [1, 2, 1, 3, 4, 5, 3]);
});

test('what is asked for at the same time is read once, and together', async () => {
  const { blocks, read } = cacheOf(8 * RAW_BYTES);
  await allOf([1, 2, 1].map((block) => blocks.read(block, undefined, (raw) => raw)));
  assert.deepEqual(read, [1, 2]);
});
