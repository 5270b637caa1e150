import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CompactRange } from './compact-range.ts';
import { proveRange, treeRoot, proveConsistency, proveInclusion } from './prove.ts';
import { verifyRange } from '../testing/verify-range.ts';
import { NaiveTree } from '../testing/naive-tree.ts';
import { seeded } from '../testing/mutations.ts';
import { refusal } from '../testing/refusal.ts';
import { encodeTile, formatTilePath, type HashTile } from './tiles.ts';
import { tileHashReader, TileMemory, tilesRead } from './tile-reader.ts';
import { leafHash, subtreesOf } from './tree.ts';
import { verifyConsistency } from './tree-proof.ts';
import { verifyInclusion } from './verify-inclusion.ts';

const SEED = 20260106;

/** The tiles of a tree as a log would store them: only hashes of levels 0, 8, 16… are there. */
function tilesFrom(read: (level: number, index: number) => Uint8Array) {
  return ({ level, index, width }: HashTile): Uint8Array =>
    encodeTile(Array.from({ length: width }, (_, i) => read(8 * level, 256 * index + i)));
}

test('gives every subtree of a tree from its tiles', () => {
  const tree = new NaiveTree(1300);
  for (const size of [1, 255, 256, 257, 300, 511, 512, 1300]) {
    const read = tileHashReader(size, tilesFrom(tree.read));
    for (let level = 0; 2 ** level <= size; level++) {
      for (let index = 0; (index + 1) * 2 ** level <= size; index++) {
        assert.deepEqual(read(level, index), tree.read(level, index));
      }
    }
    assert.deepEqual(treeRoot(size, read), tree.root(0, size));
  }
});

test('asks for the tiles of its own size, full and partial, and for each once', () => {
  const tree = new NaiveTree(70_000);
  const asked: string[] = [];
  const tiles = tilesFrom(tree.read);
  const read = tileHashReader(70_000, (tile) => {
    asked.push(formatTilePath(tile));
    return tiles(tile);
  });
  const proof = proveInclusion(300, 70_000, read);
  assert.deepEqual(proof, tree.inclusion(300, 70_000));
  assert.deepEqual(asked, ['tile/0/001', 'tile/1/000', 'tile/1/001.p/17', 'tile/0/273.p/112']);
  assert.deepEqual(
    tilesRead(70_000, (reader) => proveInclusion(300, 70_000, reader)).map(formatTilePath),
    asked,
  );
});

test('forgets tiles that it has not used for long and reads them again', () => {
  const size = 100 * 256;
  const tree = new NaiveTree(size);
  let reads = 0;
  const tiles = tilesFrom(tree.read);
  const read = tileHashReader(size, (tile) => {
    reads++;
    return tiles(tile);
  });
  for (let pass = 0; pass < 2; pass++) {
    for (let index = 0; index < 100; index++) assert.deepEqual(read(3, index * 32), tree.read(3, index * 32));
  }
  assert.equal(reads, 200);
  for (let pass = 0; pass < 2; pass++) {
    for (let index = 0; index < 50; index++) assert.deepEqual(read(3, index * 32), tree.read(3, index * 32));
  }
  assert.equal(reads, 250);
});

/** How many tiles are read when those with these indexes are used, one after the other. */
function readsOf(memory: TileMemory, indexes: Iterable<number>): number {
  let reads = 0;
  const readTile = ({ width }: HashTile): Uint8Array => {
    reads++;
    return new Uint8Array(32 * width);
  };
  for (const index of indexes) memory.nodes('log', { level: 0, index, width: 1 }, readTile);
  return reads;
}

test('a memory keeps 64 tiles and no more, unless it is told how many', () => {
  for (const [memory, kept] of [
    [new TileMemory(), 64],
    [new TileMemory(3), 3],
  ] as const) {
    const tiles = Array.from({ length: kept }, (_, index) => index);
    assert.equal(readsOf(memory, tiles), kept);
    assert.equal(readsOf(memory, tiles), 0);
    assert.equal(readsOf(memory, [...tiles, kept]), 1);
    assert.equal(readsOf(memory, [...tiles, kept]), kept + 1);
  }
});

test('a memory forgets the tile that was used longest ago, not the one that was read longest ago', () => {
  const memory = new TileMemory(2);
  assert.equal(readsOf(memory, [0, 1, 0, 2]), 3);
  assert.equal(readsOf(memory, [0]), 0);
  assert.equal(readsOf(memory, [1]), 1);
});

test('refuses a subtree that the tree does not have, a size that is none and a tile of the wrong length', () => {
  const tree = new NaiveTree(300);
  const read = tileHashReader(300, tilesFrom(tree.read));
  for (const [level, index] of [
    [0, 300],
    [8, 1],
    [9, 0],
    [0, -1],
    [-1, 0],
    [0.5, 0],
    [60, 0],
  ] as const) {
    assert.throws(() => read(level, index), refusal('MALFORMED'));
  }
  for (const size of [299.5, 2 ** 53, Number.NaN]) {
    assert.throws(() => tileHashReader(size, tilesFrom(tree.read))(0, 0), refusal('MALFORMED'), `${size}`);
  }
  const short = tileHashReader(300, (tile) => tilesFrom(tree.read)(tile).subarray(1));
  assert.throws(() => short(0, 0), refusal('MALFORMED'));
});

test('a wrong tile makes a proof that does not verify', () => {
  const tree = new NaiveTree(300);
  const read = tileHashReader(300, (tile) => {
    const bytes = tilesFrom(tree.read)(tile);
    bytes[32 * 17]! ^= 1;
    return bytes;
  });
  const proof = proveInclusion(3, 300, read);
  const claim = { leaf: tree.leaves[3]!, index: 3, size: 300, root: tree.root(0, 300), proof };
  assert.throws(() => verifyInclusion(claim), refusal('ROOT_MISMATCH'));
});

test(`proofs from the tiles of 200,000 leaves verify (seed ${SEED})`, () => {
  const size = 200_000;
  const random = seeded(SEED);
  const leaf = (index: number) => leafHash(Uint8Array.of(index >>> 16, index >>> 8, index));
  const stored: Uint8Array[][] = [[], [], []];
  const head = new CompactRange();
  for (let i = 0; i < size; i++) {
    head.append(leaf(i), (level, _, hash) => {
      if (level % 8 === 0) stored[level / 8]!.push(hash);
    });
  }
  const root = head.root();
  const readTile = ({ level, index, width }: HashTile) =>
    encodeTile(stored[level]!.slice(256 * index, 256 * index + width));
  for (let i = 0; i < 100; i++) {
    const read = tileHashReader(size, readTile);
    const index = random(size);
    verifyInclusion({ leaf: leaf(index), index, size, proof: proveInclusion(index, size, read), root });
    const from = 1 + random(size);
    const readFrom = tileHashReader(from, readTile);
    const fromRoot = treeRoot(from, readFrom);
    verifyConsistency({ from, fromRoot, to: size, toRoot: root, proof: proveConsistency(from, size, read) });
    const to = Math.min(size, index + random(500));
    const leaves = Array.from({ length: to - index }, (_, at) => leaf(index + at));
    verifyRange({ leaves, from: index, size, proof: proveRange(index, to, size, read), root });
  }
  assert.equal(subtreesOf({ begin: 0, end: size }).length, head.hashes.length);
});

test('one memory serves readers of many sizes and logs, reads each tile once, and mixes nothing up', () => {
  const logs = { one: new NaiveTree(700), two: new NaiveTree(700) };
  logs.two.leaves.reverse();
  const memory = new TileMemory();
  const asked: string[] = [];
  for (let pass = 0; pass < 2; pass++) {
    for (const [log, tree] of Object.entries(logs)) {
      const tiles = tilesFrom(tree.read);
      const readTile = (tile: HashTile) => {
        asked.push(`${log} ${formatTilePath(tile)}`);
        return tiles(tile);
      };
      for (const size of [1, 255, 256, 257, 700]) {
        const read = tileHashReader(size, readTile, { memory, log });
        assert.deepEqual(treeRoot(size, read), tree.root(0, size), `${log} ${size}`);
        assert.deepEqual(proveInclusion(0, size, read), tree.inclusion(0, size));
      }
    }
  }
  assert.equal(new Set(asked).size, asked.length);
});
