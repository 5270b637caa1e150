// Sets of docs against sets of numbers, as lists and as bits.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { DocSet } from './doc-set.ts';

const BLOCK = 64;

/** Few of many are a list, the others bits. */
const anyDocs = fc
  .integer({ min: 1, max: 700 })
  .chain((docs) =>
    fc.tuple(
      fc.constant(docs),
      fc.uniqueArray(fc.integer({ min: 0, max: docs - 1 }), { maxLength: 40 }),
      fc.uniqueArray(fc.integer({ min: 0, max: docs - 1 }), { maxLength: 40 }),
    ),
  );

function setOf(docs: number, list: readonly number[]): DocSet {
  return DocSet.ofList(docs, Uint32Array.from(list).sort());
}

test('the docs of a set are the same from block to block, and among others in their order', () => {
  fc.assert(
    fc.property(anyDocs, ([docs, own, others]) => {
      const set = setOf(docs, own);
      assert.deepEqual(
        [...set.among(Uint32Array.from(others))],
        others.filter((doc) => own.includes(doc)),
      );
      const into = new Uint16Array(BLOCK);
      const found = set.blocks(BLOCK).flatMap((block) => {
        const count = set.inBlock(block, into);
        assert.ok(count > 0);
        return [...into.subarray(0, count)].map((place) => block * BLOCK + place);
      });
      assert.deepEqual(found, [...set.list()]);
    }),
  );
});

test('sets combine as sets of numbers do', () => {
  fc.assert(
    fc.property(anyDocs, ([docs, own, others]) => {
      const [a, b] = [new Set(own), new Set(others)];
      const [one, other] = [setOf(docs, own), setOf(docs, others)];
      const sorted = (set: ReadonlySet<number>) => [...set].sort((x, y) => x - y);
      assert.deepEqual([...one.and(other).list()], sorted(a.intersection(b)));
      assert.deepEqual([...one.or(other).list()], sorted(a.union(b)));
      assert.deepEqual([...one.minus(other).list()], sorted(a.difference(b)));
      assert.equal(one.not().count, docs - a.size);
    }),
  );
});
