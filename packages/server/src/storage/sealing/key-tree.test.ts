import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { bitsOf, secretAt, withoutBranch, wholeTree } from './key-tree.ts';

const secret = new Uint8Array(32).fill(7);
const path = (bits: number, of: number) => bits.toString(2).padStart(of, '0');

test('each path has a secret of its own, and always the same', () => {
  const tree = wholeTree(secret);
  const all = Array.from({ length: 256 }, (_, i) => Buffer.from(secretAt(tree, path(i, 8))!).toString('hex'));
  assert.equal(new Set(all).size, 256);
  assert.deepEqual(secretAt(tree, path(3, 8)), secretAt(wholeTree(secret), path(3, 8)));
});

test('the secret of a path is what its bits make of the first one, by the HMAC of Node', () => {
  const secret = Buffer.alloc(32, 5);
  let expected = secret;
  for (const bit of [1, 0, 0, 1]) expected = createHmac('sha256', expected).update(Buffer.of(bit)).digest();
  assert.deepEqual(secretAt(wholeTree(secret), '1001'), new Uint8Array(expected));
});

test('what is destroyed is gone with all under it, and everything else stays as it was', () => {
  const whole = wholeTree(secret);
  const branches = fc.array(fc.tuple(fc.nat(255), fc.integer({ min: 1, max: 8 })), { maxLength: 6 });
  fc.assert(
    fc.property(branches, (destroyed) => {
      const gone = destroyed.map(([bits, length]) => path(bits, 8).slice(0, length));
      const tree = gone.reduce((left, each) => withoutBranch(left, each), whole);
      for (let i = 0; i < 256; i++) {
        const own = path(i, 8);
        const isGone = gone.some((branch) => own.startsWith(branch));
        assert.deepEqual(secretAt(tree, own), isGone ? undefined : secretAt(whole, own));
      }
      // No node that is left leads to one that is gone.
      for (const [node] of tree)
        assert.ok(!gone.some((branch) => branch.startsWith(node) || node.startsWith(branch)));
    }),
    { numRuns: 20 },
  );
});

test('bits are read from the first on', () => {
  assert.equal(bitsOf(Uint8Array.of(0b1000_0001, 0b1100_0000), 10), '1000000111');
});
