import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CompactRange } from './compact-range.ts';
import { NaiveTree } from '../testing/naive-tree.ts';
import { refusal } from '../testing/refusal.ts';
import { EMPTY_ROOT, HASH_BYTES } from './tree.ts';
import { subtreeHashes } from './prove.ts';

const tree = new NaiveTree(300);

test('has the root of the tree after every leaf', () => {
  const head = new CompactRange();
  assert.deepEqual(head.root(), EMPTY_ROOT);
  for (const [index, leaf] of tree.leaves.entries()) {
    head.append(leaf);
    assert.equal(head.size, index + 1);
    assert.deepEqual(head.root(), tree.root(0, index + 1));
  }
});

test('holds the fewest perfect subtrees of every span to 64 leaves', () => {
  for (let begin = 0; begin <= 64; begin++) {
    const range = new CompactRange(begin);
    for (let end = begin; end <= 64; end++) {
      assert.deepEqual(range.hashes, subtreeHashes({ begin, end }, tree.read), `${begin} to ${end}`);
      range.append(tree.leaves[end]!);
      assert.deepEqual([range.end, range.size], [end + 1, end + 1 - begin]);
    }
  }
});

test('tells of every perfect subtree once, when its last leaf comes', () => {
  const head = new CompactRange();
  const told = new Map<string, Uint8Array>();
  for (const leaf of tree.leaves) {
    head.append(leaf, (level, index, hash) => {
      assert.equal((index + 1) * 2 ** level, head.size + 1);
      assert.ok(!told.has(`${level}/${index}`));
      told.set(`${level}/${index}`, hash);
    });
  }
  for (let level = 0; level <= 8; level++) {
    for (let index = 0; (index + 1) * 2 ** level <= 300; index++) {
      assert.deepEqual(told.get(`${level}/${index}`), tree.read(level, index));
      told.delete(`${level}/${index}`);
    }
  }
  assert.equal(told.size, 0);
});

test('goes on from its bytes as if it had never stopped', () => {
  for (const begin of [0, 1, 37]) {
    for (let stop = begin; stop <= 120; stop++) {
      const before = CompactRange.of(begin, tree.leaves.slice(begin, stop));
      const after = CompactRange.restore({ begin, end: before.end, bytes: before.toBytes() });
      for (const leaf of tree.leaves.slice(stop, 130)) after.append(leaf);
      assert.deepEqual(after.hashes, CompactRange.of(begin, tree.leaves.slice(begin, 130)).hashes);
    }
  }
});

test('the largest tree that can be is 53 hashes', () => {
  const end = Number.MAX_SAFE_INTEGER;
  const head = CompactRange.restore({ begin: 0, end, bytes: new Uint8Array(53 * HASH_BYTES) });
  assert.equal(head.hashes.length, 53);
  assert.throws(() => head.append(tree.leaves[0]!), refusal('MALFORMED'));
});

test('refuses bytes that are not the hashes of its leaves, leaves that are no hashes, and a root of a part', () => {
  for (const bytes of [new Uint8Array(0), new Uint8Array(31), new Uint8Array(64)]) {
    assert.throws(() => CompactRange.restore({ begin: 0, end: 4, bytes }), refusal('MALFORMED'));
  }
  assert.throws(
    () => CompactRange.restore({ begin: 4, end: 3, bytes: new Uint8Array(0) }),
    refusal('MALFORMED'),
  );
  assert.throws(() => new CompactRange(-1), refusal('MALFORMED'));
  assert.throws(() => new CompactRange().append(new Uint8Array(31)), refusal('MALFORMED'));
  assert.throws(() => new CompactRange(1).root(), refusal('MALFORMED'));
});
