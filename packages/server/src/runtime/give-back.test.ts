import assert from 'node:assert/strict';
import { test } from 'node:test';
import { giveBack } from './give-back.ts';

test('what was given back is empty', () => {
  const bytes = new Uint8Array(1 << 20).fill(7);
  const piece = bytes.subarray(10, 20);
  giveBack(bytes);
  assert.equal(bytes.length, 0);
  assert.equal(piece.length, 0);
  assert.equal(bytes[0], undefined);
});

test('what others may have a part of is left alone', () => {
  const shared = new Uint8Array(1 << 20);
  giveBack(shared.subarray(1));
  const small = Buffer.from('small');
  giveBack(small);
  assert.deepEqual([shared.length, small.length], [1 << 20, 5]);
});
