import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { EvidenceError } from '../errors.ts';
import { NaiveTree } from '../testing/naive-tree.ts';
import { mutateText, seeded } from '../testing/mutations.ts';
import { refusal, resultOrRefusal } from '../testing/refusal.ts';
import {
  decodeTile,
  encodeTile,
  formatTilePath,
  parseTilePath,
  type Tile,
  TILE_HEIGHT,
  TILE_WIDTH,
  tileSizes,
  tilesOf,
  tileWidth,
} from './tiles.ts';
import { runs } from '../testing/size.ts';

const SEED = 20260104;

test('writes the paths of tiles and reads them back', () => {
  const paths: [string, Tile][] = [
    ['tile/0/000', { level: 0, index: 0, width: 256 }],
    ['tile/0/x001/x234/067', { level: 0, index: 1234067, width: 256 }],
    ['tile/0/x001/x234/067.p/8', { level: 0, index: 1234067, width: 8 }],
    ['tile/entries/999', { level: 'entries', index: 999, width: 256 }],
    ['tile/entries/x001/000.p/255', { level: 'entries', index: 1000, width: 255 }],
    ['tile/63/x009/x007/x199/x254/x740/991', { level: 63, index: Number.MAX_SAFE_INTEGER, width: 256 }],
  ];
  for (const [path, tile] of paths) {
    assert.equal(formatTilePath(tile), path);
    assert.deepEqual(parseTilePath(path), tile);
  }
});

test('reads no other path than the one that a tile has', () => {
  const wrong = {
    form: ['', 'tile', 'tile/0', 'tile/0/', '/tile/0/000', 'tile/0/000/', 'tile/0/000\n', ' tile/0/000'],
    level: ['00', '01', '64', '100', '-1', '+1', '0x1', 'Entries', ''].map((level) => `tile/${level}/000`),
    short: ['0', '00', '0000', 'x000', 'x000/001', '001/234', 'x01/234'].map((index) => `tile/0/${index}`),
    index: ['X001/234', 'x001234', '/000', 'x001//234', '٠٠٠', '0x0', '-01'].map(
      (index) => `tile/0/${index}`,
    ),
    past: ['tile/0/x009/x007/x199/x254/x740/992', 'tile/0/x001/x000/x000/x000/x000/x000/000'],
    width: ['', '0', '256', '08', '8/', '+8', '8.0', '1e1', '999'].map((width) => `tile/0/000.p/${width}`),
    suffix: ['tile/0/000.p', 'tile/0/000p/8', 'tile/0/000.P/8', 'tile/0/000.p8', 'tile/0/x001.p/8/234'],
  };
  for (const path of Object.values(wrong).flat()) {
    assert.throws(() => parseTilePath(path), refusal('MALFORMED'), path);
  }
});

test('refuses to write the path of a tile that cannot be', () => {
  for (const tile of [
    { level: 64, index: 0, width: 256 },
    { level: -1, index: 0, width: 256 },
    { level: 0.5, index: 0, width: 256 },
    { level: 0, index: -1, width: 256 },
    { level: 0, index: 2 ** 53, width: 256 },
    { level: 0, index: 0, width: 0 },
    { level: 0, index: 0, width: 257 },
    { level: 0, index: 0, width: 1.5 },
  ]) {
    assert.throws(() => formatTilePath(tile), refusal('MALFORMED'));
  }
});

test(`every path that is read is written the same, and no path breaks the reader (seed ${SEED})`, () => {
  const random = seeded(SEED);
  const paths = [
    'tile/0/000',
    'tile/12/x001/x234/067.p/8',
    'tile/entries/x123/456',
    'tile/63/x009/999.p/255',
  ];
  let accepted = 0;
  for (let i = 0; i < 20_000; i++) {
    const path = resultOrRefusal(() => mutateText(paths[i % 4]!, random));
    if (path instanceof EvidenceError) continue;
    const tile = resultOrRefusal(() => parseTilePath(path));
    if (tile instanceof EvidenceError) continue;
    accepted++;
    assert.equal(formatTilePath(tile), path);
  }
  assert.ok(accepted > 100, `only ${accepted} paths were accepted`);
  const tiles = fc.record(
    {
      level: fc.oneof(fc.nat(63), fc.constant('entries' as const)),
      index: fc.oneof(fc.nat(3000), fc.maxSafeNat()),
      width: fc.integer({ min: 1, max: 256 }),
    },
    { noNullPrototype: true },
  );
  fc.assert(
    fc.property(tiles, (tile) => assert.deepEqual(parseTilePath(formatTilePath(tile)), tile)),
    { seed: SEED, numRuns: runs(5000) },
  );
});

test('a tree of 70,000 leaves has the tiles that the specification counts', () => {
  const tiles = [...tilesOf(70_000)];
  const count = (level: number, full: boolean) =>
    tiles.filter((tile) => tile.level === level && (tile.width === 256) === full).length;
  assert.deepEqual([count(0, true), count(0, false)], [273, 1]);
  assert.deepEqual([count(1, true), count(1, false)], [1, 1]);
  assert.deepEqual([count(2, true), count(2, false)], [0, 1]);
  assert.equal(tiles.length, 277);
  assert.deepEqual(tiles.filter((tile) => tile.width < 256).map(formatTilePath), [
    'tile/0/273.p/112',
    'tile/1/001.p/17',
    'tile/2/000.p/1',
  ]);
  assert.deepEqual([...tilesOf(256)].map(formatTilePath), ['tile/0/000', 'tile/1/000.p/1']);
  assert.deepEqual([...tilesOf(0)], []);
  for (const size of [-1, 1.5, 2 ** 53]) {
    assert.throws(() => tilesOf(size).next(), refusal('MALFORMED'));
  }
});

test('says of every tree size which tiles it has, the same in all three ways', () => {
  const all = [...tilesOf(70_000)];
  for (const size of [0, 1, 255, 256, 257, 511, 512, 65_535, 65_536, 65_537, 66_047, 70_000]) {
    const tiles = new Set([...tilesOf(size)].map(formatTilePath));
    for (const { level, index } of all) {
      const width = tileWidth(level, index, size);
      if (width === 0) continue;
      const tile = { level, index, width };
      assert.ok(tiles.delete(formatTilePath(tile)));
      const { from, to } = tileSizes(tile);
      assert.ok(from <= size && size < to);
    }
    assert.equal(tiles.size, 0);
  }
  assert.deepEqual(tileSizes({ level: 0, index: 1, width: 44 }), { from: 300, to: 301 });
  assert.deepEqual(tileSizes({ level: 1, index: 0, width: 2 }), { from: 512, to: 768 });
  assert.deepEqual(tileSizes({ level: 1, index: 0, width: 256 }), { from: 65_536, to: Infinity });
  assert.deepEqual(tileSizes({ level: 'entries', index: 0, width: 7 }), { from: 7, to: 8 });
});

test('a tile is its hashes, one after the other', () => {
  assert.equal(2 ** TILE_HEIGHT, TILE_WIDTH);
  const { leaves } = new NaiveTree(256);
  for (const width of [1, 44, 256]) {
    const bytes = encodeTile(leaves.slice(0, width));
    assert.equal(bytes.length, 32 * width);
    assert.deepEqual(decodeTile(bytes, width), leaves.slice(0, width));
    assert.throws(() => decodeTile(bytes.subarray(1), width), refusal('MALFORMED'));
    assert.throws(() => decodeTile(bytes, width - 1), refusal('MALFORMED'));
  }
  assert.throws(() => decodeTile(new Uint8Array(0), 0), refusal('MALFORMED'));
  assert.throws(() => decodeTile(new Uint8Array(257 * 32), 257), refusal('MALFORMED'));
  assert.throws(() => encodeTile([]), refusal('MALFORMED'));
  assert.throws(() => encodeTile([...leaves, leaves[0]!]), refusal('MALFORMED'));
  assert.throws(() => encodeTile([new Uint8Array(31)]), refusal('MALFORMED'));
  assert.throws(() => encodeTile([leaves[0]!, new Uint8Array(31)]), refusal('MALFORMED'));
});
