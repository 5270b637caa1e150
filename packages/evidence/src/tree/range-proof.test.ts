import assert from 'node:assert/strict';
import { test } from 'node:test';
import { equalBytes } from '../bytes.ts';
import { CompactRange } from './compact-range.ts';
import { EvidenceError } from '../errors.ts';
import { compactRangeRoot } from './range-proof.ts';
import { proveRange, proveInclusion } from './prove.ts';
import { type RangeProof, rangeRoot, verifyRange } from '../testing/verify-range.ts';
import { naiveRangeRoot, NaiveTree } from '../testing/naive-tree.ts';
import { refusal, resultOrRefusal } from '../testing/refusal.ts';
import { IS_LONG, runs } from '../testing/size.ts';
import { flipBit, flipNumberBit, seeded } from '../testing/mutations.ts';
import { EMPTY_ROOT } from './tree.ts';

const SEED = 20260103;
const SIZE_MAX = IS_LONG ? 64 : 32;
const RANDOM = runs(3000);
const CHANGED = IS_LONG ? 10 : 2;
const tree = new NaiveTree(2000);

interface ArrayProof extends RangeProof {
  leaves: Uint8Array[];
}

const rangeOf = (from: number, to: number, size: number): ArrayProof => ({
  leaves: tree.leaves.slice(from, to),
  from,
  size,
  root: tree.root(0, size),
  proof: proveRange(from, to, size, tree.read),
});

const refuses = (proof: RangeProof): boolean =>
  resultOrRefusal(() => verifyRange(proof)) instanceof EvidenceError;

function isTrue({ leaves, from, size, proof, root }: ArrayProof): boolean {
  const recomputed = naiveRangeRoot(leaves, from, size, proof);
  return recomputed !== undefined && equalBytes(recomputed, root);
}

test(`proves every range of every tree to ${SIZE_MAX} leaves, with the hashes that the definition asks for`, () => {
  for (let size = 1; size <= SIZE_MAX; size++) {
    for (let from = 0; from <= size; from++) {
      for (let to = from; to <= size; to++) {
        const proof = rangeOf(from, to, size);
        if (from < to) assert.ok(proof.proof.length <= 2 * Math.ceil(Math.log2(size)));
        assert.deepEqual(proof.proof, tree.range(from, to, size));
        verifyRange(proof);
      }
    }
  }
});

test(`proves ${RANDOM} random ranges of trees to 2,000 leaves (seed ${SEED})`, () => {
  const random = seeded(SEED);
  for (let i = 0; i < RANDOM; i++) {
    const size = 1 + random(2000);
    const from = random(size);
    // Long ranges take long, and are no other case: their inner nodes are those of the compact range.
    const proof = rangeOf(from, Math.min(size, from + random(200)), size);
    assert.deepEqual(proof.proof, tree.range(from, from + proof.leaves.length, size));
    verifyRange(proof);
  }
});

test(`refuses every change of one bit in ${CHANGED} range proofs (seed ${SEED})`, () => {
  const random = seeded(SEED + 1);
  for (let i = 0; i < CHANGED; i++) {
    const size = 1 + random(2000);
    const from = random(size);
    const good = rangeOf(from, Math.min(size, from + 1 + random(4)), size);
    for (let bit = 0; bit < 256; bit++) {
      for (const [at, hash] of good.proof.entries()) {
        assert.ok(refuses({ ...good, proof: good.proof.with(at, flipBit(hash, bit)) }));
      }
      for (const [at, leaf] of good.leaves.entries()) {
        assert.ok(refuses({ ...good, leaves: good.leaves.with(at, flipBit(leaf, bit)) }));
      }
      assert.ok(refuses({ ...good, root: flipBit(good.root, bit) }));
    }
    for (let bit = 0; bit < 53; bit++) {
      assert.ok(refuses({ ...good, from: flipNumberBit(from, bit) }));
      const resized = { ...good, size: flipNumberBit(size, bit) };
      assert.equal(refuses(resized), !isTrue(resized));
    }
  }
});

test('the proof of one leaf has the hashes of its inclusion proof, from left to right', () => {
  for (let index = 0; index < 37; index++) {
    const texts = (hashes: Uint8Array[]) => hashes.map(String).sort();
    assert.deepEqual(
      texts(proveRange(index, index + 1, 37, tree.read)),
      texts(proveInclusion(index, 37, tree.read)),
    );
  }
});

test('a whole tree needs no proof, an empty range has the root as its proof, the empty tree nothing', () => {
  assert.deepEqual(proveRange(0, 37, 37, tree.read), []);
  assert.deepEqual(rangeRoot(tree.leaves.slice(0, 37), 0, 37, []), tree.root(0, 37));
  assert.deepEqual(proveRange(12, 12, 37, tree.read), [tree.root(0, 37)]);
  assert.deepEqual(rangeRoot([], 12, 37, [tree.root(0, 37)]), tree.root(0, 37));
  assert.deepEqual(proveRange(0, 0, 0, tree.read), []);
  assert.deepEqual(rangeRoot([], 0, 0, []), EMPTY_ROOT);
  assert.throws(() => rangeRoot([], 0, 0, [EMPTY_ROOT]), refusal('PROOF_INVALID'));
});

test('takes leaves one at a time and keeps a logarithmic number of hashes', () => {
  const range = new CompactRange(700);
  for (let i = 700; i < 1900; i++) {
    range.append(tree.leaves[i]!);
    assert.ok(range.hashes.length <= 2 * 11);
  }
  const proof = proveRange(700, 1900, 2000, tree.read);
  assert.deepEqual(compactRangeRoot(range, 2000, proof), tree.root(0, 2000));
});

test('refuses a leaf left out, said twice, or moved, and a hash too many or too few', () => {
  const good = rangeOf(5, 20, 33);
  const { leaves, proof } = good;
  for (const others of [leaves.slice(1), leaves.slice(0, -1), [...leaves, leaves[0]!]]) {
    assert.throws(() => verifyRange({ ...good, leaves: others }), refusal('PROOF_INVALID', 'ROOT_MISMATCH'));
  }
  assert.throws(() => verifyRange({ ...good, leaves: leaves.toReversed() }), refusal('ROOT_MISMATCH'));
  for (const hashes of [proof.slice(1), proof.slice(0, -1), [...proof, proof[0]!], []]) {
    assert.throws(() => verifyRange({ ...good, proof: hashes }), refusal('PROOF_INVALID'));
  }
  assert.throws(() => verifyRange({ ...good, proof: proof.toReversed() }), refusal('ROOT_MISMATCH'));
  assert.throws(
    () => verifyRange({ ...good, proof: proof.with(0, new Uint8Array(33)) }),
    refusal('PROOF_INVALID'),
  );
});

test('refuses ranges that the tree does not have', () => {
  for (const [from, to, size] of [
    [3, 2, 5],
    [0, 6, 5],
    [-1, 2, 5],
    [0, 1.5, 5],
    [0, 2, 2.5],
    [0, 2, 2 ** 53],
  ] as const) {
    assert.throws(() => proveRange(from, to, size, tree.read), refusal('MALFORMED'));
  }
  for (const [from, size] of [
    [4, 5],
    [-1, 5],
    [0.5, 5],
    [0, Number.NaN],
    [0, 2 ** 53],
  ] as const) {
    assert.throws(() => rangeRoot(tree.leaves.slice(0, 2), from, size, []), refusal('PROOF_INVALID'));
  }
});
