import assert from 'node:assert/strict';
import { test } from 'node:test';
import { equalBytes, fromBase64 } from '../bytes.ts';
import { type Hashes, naiveConsistencyRoots, naiveInclusionRoot, NaiveTree } from '../testing/naive-tree.ts';
import { skipWithout, vectorPaths, vectorText } from '../testing/public-vectors.ts';
import { refusal, resultOrRefusal } from '../testing/refusal.ts';
import { flipBit, flipNumberBit, seeded } from '../testing/mutations.ts';
import { IS_LONG, runs } from '../testing/size.ts';
import { EvidenceError } from '../errors.ts';
import { EMPTY_ROOT } from './tree.ts';
import { type ConsistencyProof, verifyConsistency } from './tree-proof.ts';
import { type InclusionProof, verifyInclusion } from './verify-inclusion.ts';
import { proveConsistency, proveInclusion } from './prove.ts';

const SEED = 20260102;
const RANDOM = runs(5000);
const CHANGED = IS_LONG ? 10 : 2;
const tree = new NaiveTree(2000);

const inclusionOf = (index: number, size: number): InclusionProof => ({
  leaf: tree.leaves[index]!,
  index,
  size,
  root: tree.root(0, size),
  proof: proveInclusion(index, size, tree.read),
});

const consistencyOf = (from: number, to: number): ConsistencyProof => ({
  from,
  fromRoot: tree.root(0, from),
  to,
  toRoot: tree.root(0, to),
  proof: proveConsistency(from, to, tree.read),
});

test('proves every leaf of every tree to 64 leaves, with the hashes of the RFC', () => {
  for (let size = 1; size <= 64; size++) {
    for (let index = 0; index < size; index++) {
      const proof = inclusionOf(index, size);
      assert.deepEqual(proof.proof, tree.inclusion(index, size));
      verifyInclusion(proof);
    }
  }
});

test('proves that every tree to 64 leaves extends every smaller one, with the hashes of the RFC', () => {
  for (let to = 1; to <= 64; to++) {
    for (let from = 1; from <= to; from++) {
      const proof = consistencyOf(from, to);
      assert.deepEqual(proof.proof, tree.consistency(from, to));
      verifyConsistency(proof);
    }
  }
});

test(`proves ${2 * RANDOM} random leaves and growths of trees to 2,000 leaves (seed ${SEED})`, () => {
  const random = seeded(SEED);
  for (let i = 0; i < RANDOM; i++) {
    const size = 1 + random(2000);
    const inclusion = inclusionOf(random(size), size);
    assert.deepEqual(inclusion.proof, tree.inclusion(inclusion.index, size));
    verifyInclusion(inclusion);
    const consistency = consistencyOf(1 + random(size), size);
    assert.deepEqual(consistency.proof, tree.consistency(consistency.from, size));
    verifyConsistency(consistency);
  }
});

/** Whether the naive reading of the RFC finds the proof true; some proofs are true of a neighbouring size too. */
function isTrueInclusion({ leaf, index, size, proof, root }: InclusionProof): boolean {
  const recomputed = naiveInclusionRoot(leaf, index, size, proof);
  return recomputed !== undefined && equalBytes(recomputed, root);
}

function isTrueConsistency({ from, fromRoot, to, toRoot, proof }: ConsistencyProof): boolean {
  const roots = naiveConsistencyRoots(fromRoot, from, to, proof);
  return roots !== undefined && equalBytes(roots[0], fromRoot) && equalBytes(roots[1], toRoot);
}

const refusesInclusion = (proof: InclusionProof): boolean =>
  resultOrRefusal(() => verifyInclusion(proof)) instanceof EvidenceError;
const refusesConsistency = (proof: ConsistencyProof): boolean =>
  resultOrRefusal(() => verifyConsistency(proof)) instanceof EvidenceError;

function* bitChanges(hash: Uint8Array): Generator<Uint8Array> {
  for (let bit = 0; bit < hash.length * 8; bit++) yield flipBit(hash, bit);
}

function* proofBitChanges(proof: Hashes): Generator<Uint8Array[]> {
  for (const [i, hash] of proof.entries())
    for (const changed of bitChanges(hash)) yield proof.with(i, changed);
}

test(`refuses every change of one bit in ${CHANGED} inclusion proofs (seed ${SEED})`, () => {
  const random = seeded(SEED);
  for (let i = 0; i < CHANGED; i++) {
    const size = 1 + random(2000);
    const good = inclusionOf(random(size), size);
    for (const proof of proofBitChanges(good.proof)) assert.ok(refusesInclusion({ ...good, proof }));
    for (const leaf of bitChanges(good.leaf)) assert.ok(refusesInclusion({ ...good, leaf }));
    for (const root of bitChanges(good.root)) assert.ok(refusesInclusion({ ...good, root }));
    for (let bit = 0; bit < 53; bit++) {
      // A tree has one path to each leaf, so that no proof is true of two indexes.
      assert.ok(refusesInclusion({ ...good, index: flipNumberBit(good.index, bit) }));
      const resized = { ...good, size: flipNumberBit(good.size, bit) };
      assert.equal(refusesInclusion(resized), !isTrueInclusion(resized));
    }
  }
});

test(`refuses every change of one bit in ${CHANGED} consistency proofs (seed ${SEED})`, () => {
  const random = seeded(SEED + 1);
  for (let i = 0; i < CHANGED; i++) {
    const to = 1 + random(2000);
    const good = consistencyOf(1 + random(to), to);
    for (const proof of proofBitChanges(good.proof)) assert.ok(refusesConsistency({ ...good, proof }));
    for (const fromRoot of bitChanges(good.fromRoot)) assert.ok(refusesConsistency({ ...good, fromRoot }));
    for (const toRoot of bitChanges(good.toRoot)) assert.ok(refusesConsistency({ ...good, toRoot }));
    for (let bit = 0; bit < 53; bit++) {
      const earlier = { ...good, from: flipNumberBit(good.from, bit) };
      assert.equal(refusesConsistency(earlier), !isTrueConsistency(earlier));
      const later = { ...good, to: flipNumberBit(good.to, bit) };
      assert.equal(refusesConsistency(later), !isTrueConsistency(later));
    }
  }
});

test('refuses an inclusion proof with a hash too many, too few, out of order or not of 32 bytes', () => {
  const good = inclusionOf(5, 11);
  const { proof } = good;
  const bad = [proof.slice(1), proof.slice(0, -1), [...proof, proof[0]!], [proof[0]!, ...proof], []];
  for (const hashes of bad) {
    assert.throws(() => verifyInclusion({ ...good, proof: hashes }), refusal('PROOF_INVALID'));
  }
  assert.throws(() => verifyInclusion({ ...good, proof: proof.toReversed() }), refusal('ROOT_MISMATCH'));
  assert.throws(
    () => verifyInclusion({ ...good, proof: proof.with(0, new Uint8Array(31)) }),
    refusal('PROOF_INVALID'),
  );
  // Two hashes of other lengths that together have the right bytes.
  const joined = new Uint8Array([...good.leaf, ...proof[0]!]);
  assert.throws(
    () =>
      verifyInclusion({ ...good, leaf: joined.subarray(31), proof: proof.with(0, joined.subarray(0, 31)) }),
    refusal('PROOF_INVALID'),
  );
});

test('refuses a consistency proof with a hash too many, too few or out of order', () => {
  const good = consistencyOf(6, 11);
  const { proof } = good;
  const bad = [proof.slice(1), proof.slice(0, -1), [...proof, proof[0]!], [proof[0]!, ...proof], []];
  for (const hashes of bad) {
    assert.throws(() => verifyConsistency({ ...good, proof: hashes }), refusal('PROOF_INVALID'));
  }
  assert.throws(() => verifyConsistency({ ...good, proof: proof.toReversed() }), refusal('ROOT_MISMATCH'));
});

test('a proof can fit a neighbouring size, which is why size and root are signed together', () => {
  const good = inclusionOf(0, 3);
  verifyInclusion({ ...good, size: 4 });
  assert.throws(() => verifyInclusion({ ...good, size: 4, root: tree.root(0, 4) }), refusal('ROOT_MISMATCH'));
});

test('nothing is consistent with the empty tree, not even itself', () => {
  for (const to of [0, 1, 7]) {
    const toRoot = tree.root(0, to);
    for (const proof of [[], [toRoot], [EMPTY_ROOT]]) {
      assert.throws(
        () => verifyConsistency({ from: 0, fromRoot: EMPTY_ROOT, to, toRoot, proof }),
        refusal('PROOF_INVALID'),
      );
    }
    assert.throws(() => proveConsistency(0, to, tree.read), refusal('MALFORMED'));
  }
});

test('a tree is consistent with itself by an empty proof and an equal root alone', () => {
  const root = tree.root(0, 6);
  verifyConsistency({ from: 6, fromRoot: root, to: 6, toRoot: root, proof: [] });
  assert.throws(
    () => verifyConsistency({ from: 6, fromRoot: root, to: 6, toRoot: tree.root(0, 7), proof: [] }),
    refusal('ROOT_MISMATCH'),
  );
  assert.throws(
    () => verifyConsistency({ from: 6, fromRoot: root, to: 6, toRoot: root, proof: [root] }),
    refusal('PROOF_INVALID'),
  );
});

test('refuses numbers that are no sizes and no indexes, in makers and in checkers', () => {
  const good = inclusionOf(1, 4);
  for (const bad of [-1, 0.5, Number.NaN, Infinity, 2 ** 53]) {
    assert.throws(() => proveInclusion(bad, 4, tree.read), refusal('MALFORMED'));
    assert.throws(() => proveInclusion(1, bad, tree.read), refusal('MALFORMED'));
    assert.throws(() => proveConsistency(1, bad, tree.read), refusal('MALFORMED'));
    assert.throws(() => proveConsistency(bad, 4, tree.read), refusal('MALFORMED'));
    assert.throws(() => verifyInclusion({ ...good, index: bad }), refusal('PROOF_INVALID'));
    assert.throws(() => verifyInclusion({ ...good, size: bad }), refusal('PROOF_INVALID'));
    assert.throws(() => verifyConsistency({ ...consistencyOf(2, 4), to: bad }), refusal('PROOF_INVALID'));
    assert.throws(() => verifyConsistency({ ...consistencyOf(2, 4), from: bad }), refusal('PROOF_INVALID'));
  }
  assert.throws(() => proveInclusion(4, 4, tree.read), refusal('MALFORMED'));
  assert.throws(() => verifyInclusion({ ...good, index: 4 }), refusal('PROOF_INVALID'));
  assert.throws(() => proveConsistency(5, 4, tree.read), refusal('MALFORMED'));
});

test('agrees with the naive reading of the RFC on proofs in trees beyond 32 bits', () => {
  const leaf = tree.leaves[0]!;
  const hashes = tree.leaves.slice(1);
  for (const [index, size] of [
    [2 ** 32, 2 ** 32 + 1],
    [2 ** 31, 2 ** 32 + 5],
    [2 ** 40 + 12345, 2 ** 41 + 99],
    [Number.MAX_SAFE_INTEGER - 1, Number.MAX_SAFE_INTEGER],
  ] as const) {
    const fitting = hashes.findIndex((_, count) =>
      naiveInclusionRoot(leaf, index, size, hashes.slice(0, count)),
    );
    const proof = hashes.slice(0, fitting);
    const root = naiveInclusionRoot(leaf, index, size, proof)!;
    verifyInclusion({ leaf, index, size, proof, root });
  }
});

interface InclusionVector {
  leafIdx: number;
  treeSize: number;
  root: string;
  leafHash: string;
  proof: string[] | null;
  desc: string;
  wantErr: boolean;
}

interface ConsistencyVector {
  size1: number;
  size2: number;
  root1: string;
  root2: string;
  proof: string[] | null;
  desc: string;
  wantErr: boolean;
}

const MERKLE = 'merkle/testdata';

test('judges all 98 public inclusion proofs as their makers do', { skip: skipWithout(MERKLE) }, () => {
  const vectors = vectorPaths(`${MERKLE}/inclusion`, '.json').map((path) => vectorText(path));
  assert.equal(vectors.length, 98);
  for (const text of vectors) {
    const { leafIdx: index, treeSize: size, ...vector }: InclusionVector = JSON.parse(text);
    const [leaf, root] = [fromBase64(vector.leafHash), fromBase64(vector.root)];
    const proof = (vector.proof ?? []).map((hash) => fromBase64(hash));
    assert.equal(refusesInclusion({ leaf, index, size, proof, root }), vector.wantErr, vector.desc);
  }
});

test('judges all 98 public consistency proofs as their makers do', { skip: skipWithout(MERKLE) }, () => {
  const vectors = vectorPaths(`${MERKLE}/consistency`, '.json').map((path) => vectorText(path));
  assert.equal(vectors.length, 98);
  for (const text of vectors) {
    const { size1: from, size2: to, ...vector }: ConsistencyVector = JSON.parse(text);
    const [fromRoot, toRoot] = [fromBase64(vector.root1), fromBase64(vector.root2)];
    const proof = (vector.proof ?? []).map((hash) => fromBase64(hash));
    assert.equal(refusesConsistency({ from, fromRoot, to, toRoot, proof }), vector.wantErr, vector.desc);
  }
});
