// Blocks on their way into the store.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSystemRandom } from '../../../runtime/random.ts';
import { BlockKeys } from './block-codec.ts';
import { SegmentOutput } from './segment-output.ts';

test('a segment never gets a block with a number that is of another segment', () => {
  const store = { put: () => {} };
  const parts = {
    store,
    keys: new BlockKeys(new Uint8Array(32)),
    random: createSystemRandom(),
    blocksMax: 3,
  };
  const output = new SegmentOutput('acme', 7, parts);
  assert.deepEqual([output.take(Buffer.from('a')), output.take(Buffer.from('b'))], [1, 2]);
  assert.throws(() => output.take(Buffer.from('c')), /segment 7 .* too many blocks/);
});
