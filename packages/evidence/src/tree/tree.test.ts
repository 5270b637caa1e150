import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toHex } from '../bytes.ts';
import { fromHex } from '../hash/from-hex.ts';
import { sha256 } from '../hash/sha256.ts';
import { NaiveTree } from '../testing/naive-tree.ts';
import { refusal } from '../testing/refusal.ts';
import { EMPTY_ROOT, HASH_BYTES, isHash, leafHash, middleOf, nodeHash, subtreesOf } from './tree.ts';
import { spanRoot, subtreeHashes, treeRoot } from './prove.ts';

/** The entries and roots that the test suites of Certificate Transparency use. */
const CT_ENTRIES = [
  '',
  '00',
  '10',
  '2021',
  '3031',
  '40414243',
  '5051525354555657',
  '606162636465666768696a6b6c6d6e6f',
];
const CT_ROOTS = [
  '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
  'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
  'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77',
  'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
  '4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4',
  '76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef',
  'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c',
  '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
];

test('the root of no leaf is the hash of nothing', () => {
  assert.deepEqual(EMPTY_ROOT, sha256());
  assert.deepEqual(
    treeRoot(0, () => assert.fail('nothing to read')),
    EMPTY_ROOT,
  );
});

test('gives the roots of Certificate Transparency for trees of one to eight entries', () => {
  const leaves = CT_ENTRIES.map((entry) => leafHash(fromHex(entry)));
  const read = (level: number, index: number): Uint8Array =>
    level === 0 ? leaves[index]! : nodeHash(read(level - 1, 2 * index), read(level - 1, 2 * index + 1));
  assert.deepEqual(
    CT_ROOTS.map((_, i) => toHex(treeRoot(i + 1, read))),
    CT_ROOTS,
  );
});

test('a leaf is never hashed as a node is', () => {
  const [left, right] = [leafHash(Uint8Array.of(1)), leafHash(Uint8Array.of(2))];
  assert.notDeepEqual(nodeHash(left, right), leafHash(Uint8Array.of(...left, ...right)));
});

test('a hash has the 32 bytes of SHA-256, and nothing else is one', () => {
  assert.equal(HASH_BYTES, 32);
  assert.deepEqual(
    [0, 31, 32, 33, 64].filter((length) => isHash(new Uint8Array(length))),
    [32],
  );
});

test('a node divides behind the largest power of two that is less than what it spans', () => {
  for (const [begin, end, middle] of [
    [0, 2, 1],
    [0, 3, 2],
    [0, 4, 2],
    [0, 5, 4],
    [4, 6, 5],
    [4, 7, 6],
    [8, 12, 10],
    [8, 13, 12],
  ] as const) {
    assert.equal(middleOf({ begin, end }), middle, `${begin} to ${end}`);
  }
});

test('every span of every tree to 64 leaves is the fewest perfect subtrees, in order, without gap', () => {
  for (let begin = 0; begin <= 64; begin++) {
    for (let end = begin; end <= 64; end++) {
      let at = begin;
      const subtrees = subtreesOf({ begin, end });
      for (const { level, index } of subtrees) {
        assert.equal(index * 2 ** level, at);
        at += 2 ** level;
      }
      assert.equal(at, end);
      const twins = subtrees.some(({ level, index }, i) => {
        const next = subtrees[i + 1];
        return next?.level === level && index % 2 === 0;
      });
      assert.ok(!twins, `${begin} to ${end} has two subtrees that make one`);
    }
  }
});

test('gives the subtree hashes and the roots of the naive tree', () => {
  const tree = new NaiveTree(64);
  for (let size = 1; size <= 64; size++) assert.deepEqual(treeRoot(size, tree.read), tree.root(0, size));
  assert.deepEqual(subtreeHashes({ begin: 3, end: 13 }, tree.read), [
    tree.root(3, 4),
    tree.root(4, 8),
    tree.root(8, 12),
    tree.root(12, 13),
  ]);
  assert.deepEqual(spanRoot({ begin: 32, end: 43 }, tree.read), tree.root(32, 43));
});

test('keeps its arithmetic exact up to 2^53 - 1 leaves', () => {
  const most = Number.MAX_SAFE_INTEGER;
  assert.equal(middleOf({ begin: 0, end: most }), 2 ** 52);
  assert.equal(middleOf({ begin: 0, end: 2 ** 52 + 1 }), 2 ** 52);
  assert.equal(middleOf({ begin: 0, end: 2 ** 33 }), 2 ** 32);
  const subtrees = subtreesOf({ begin: 0, end: most });
  assert.equal(subtrees.length, 53);
  assert.deepEqual(subtrees.at(-1), { level: 0, index: most - 1 });
  assert.deepEqual(subtreesOf({ begin: most - 2, end: most }), [
    { level: 0, index: most - 2 },
    { level: 0, index: most - 1 },
  ]);
});

test('refuses spans that no tree has', () => {
  for (const span of [
    { begin: -1, end: 2 },
    { begin: 3, end: 2 },
    { begin: 0.5, end: 2 },
    { begin: 0, end: 2 ** 53 },
    { begin: 0, end: Number.NaN },
  ]) {
    assert.throws(() => subtreesOf(span), refusal('MALFORMED'));
  }
});
