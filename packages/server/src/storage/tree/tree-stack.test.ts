import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CompactRange, HashPool, leafHash, toHex } from '@tallystick/evidence';
import * as fc from 'fast-check';
import { TreeStack } from './tree-stack.ts';

const pool = new HashPool();
const leaves = Array.from({ length: 1200 }, (_, i) => leafHash(Uint8Array.of(i & 0xff, i >>> 8)));
const joined = (from: number, to: number) => Uint8Array.from(Buffer.concat(leaves.slice(from, to)));

test('appending many leaves at once gives the same tree as one by one, from any size on', () => {
  const lots = fc.array(fc.integer({ min: 0, max: 300 }), { minLength: 1, maxLength: 4 });
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 100 }), lots, (begin, counts) => {
      const one = CompactRange.of(0, leaves.slice(0, begin));
      const bytes = one.toBytes();
      const stack = new TreeStack(CompactRange.restore({ begin: 0, end: begin, bytes }), pool);
      const [expected, seen] = [new Set<string>(), new Set<string>()];
      const noteIn = (all: Set<string>) => (level: number, place: number, hash: Uint8Array) =>
        void (level > 0 && all.add(`${level}/${place} ${toHex(hash)}`));
      for (const count of counts) {
        const from = one.size;
        for (const leaf of leaves.slice(from, from + count)) one.append(leaf, noteIn(expected));
        stack.append(joined(from, from + count), noteIn(seen));
        assert.equal(stack.size, one.size);
        assert.deepEqual(stack.root(), one.root());
      }
      assert.deepEqual([...seen].toSorted(), [...expected].toSorted());
    }),
    { numRuns: 200 },
  );
});
