import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  CompactRange,
  encodeTile,
  formatTilePath,
  type HashReader,
  leafHash,
  nodeHash,
  type Tile,
  treeRoot,
} from '@tallystick/evidence';
import * as fc from 'fast-check';
import { authenticHashes } from './authentic-hashes.ts';

const SEED = 20261115;
const SIZE_MAX = 70_000;

/** Any log: entry i is the text of i. Hashes are made once. */
const hashes = new Map<string, Uint8Array>();
const hashAt: HashReader = (level, index) => {
  const place = `${level} ${index}`;
  const hash =
    hashes.get(place) ??
    (level === 0
      ? leafHash(new TextEncoder().encode(String(index)))
      : nodeHash(hashAt(level - 1, 2 * index), hashAt(level - 1, 2 * index + 1)));
  hashes.set(place, hash);
  return hash;
};

function tileOf({ level, index, width }: Tile): Uint8Array {
  const height = 8 * Number(level);
  return encodeTile(Array.from({ length: width }, (_, i) => hashAt(height, 256 * index + i)));
}

const headOf = (size: number) => ({ size, root: treeRoot(size, hashAt) });
const sizes = fc.oneof(
  fc.constantFrom(1, 255, 256, 257, 511, 512, 65_535, 65_536, 65_537, SIZE_MAX),
  fc.integer({ min: 1, max: SIZE_MAX }),
);

describe('hashes out of tiles', () => {
  it(`are those of the tree, for every two sizes (seed ${SEED})`, async () => {
    await fc.assert(
      fc.asyncProperty(sizes, sizes, async (a, b) => {
        const [then, now] = [Math.min(a, b), Math.max(a, b)];
        let fetched = 0;
        const log = { tile: async (tile: Tile) => (fetched++, tileOf(tile)) };
        const read = await authenticHashes(log, headOf(now), (hashes) => treeRoot(then, hashes));
        assert.deepEqual(treeRoot(then, read), treeRoot(then, hashAt));
        assert.ok(fetched <= 8, `${fetched} tiles`);
      }),
      { seed: SEED, numRuns: 60 },
    );
  });

  it(`are refused when any byte of any tile is another (seed ${SEED})`, async () => {
    await fc.assert(
      fc.asyncProperty(sizes, sizes, fc.nat(), fc.nat(), async (a, b, which, at) => {
        const [then, now] = [Math.min(a, b), Math.max(a, b)];
        const paths: string[] = [];
        const honest = { tile: async (tile: Tile) => (paths.push(formatTilePath(tile)), tileOf(tile)) };
        const wanted = (hashes: HashReader) => treeRoot(then, hashes);
        await authenticHashes(honest, headOf(now), wanted);
        const victim = paths[which % paths.length]!;
        const lying = {
          async tile(tile: Tile) {
            const bytes = tileOf(tile);
            if (formatTilePath(tile) === victim) bytes[at % bytes.length]! ^= 1 + (at % 255);
            return bytes;
          },
        };
        await assert.rejects(authenticHashes(lying, headOf(now), wanted), (error: Error) => {
          assert.match(error.message, /signed root/);
          return 'reason' in error && error.reason === 'ROOT_MISMATCH';
        });
      }),
      { seed: SEED, numRuns: 60 },
    );
  });

  it('of an empty log need no tile', async () => {
    const log = { tile: () => Promise.reject(new Error('asked')) };
    await authenticHashes(log, { size: 0, root: new CompactRange().root() }, () => []);
  });
});
