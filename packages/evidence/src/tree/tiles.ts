// Tiles (c2sp.org/tlog-tiles): the tree cut into pieces that never change. A tile of level L holds up to 256
// hashes of 32 bytes, one after the other; hash i of tile N is that of the subtree (8·L, 256·N + i). A hash
// of level 1 or more therefore covers a full tile of the level below, never a partial one.
//
//   tile/<L>/<N>            a full tile, 256 hashes            L: 0 to 63
//   tile/<L>/<N>.p/<W>      the partial one at the right edge  W: 1 to 255 hashes
//   tile/entries/<N>[.p/<W>]  the entries of the level 0 tile N: see entry-bundle.ts
//
// <N> in groups of three digits, an x before all but the last: 1234067 is x001/x234/067. Each tile has one
// path and only that is read.

import { concat } from '../bytes.ts';
import { EvidenceError, malformed } from '../errors.ts';
import { HASH_BYTES, isCount, isHash } from './tree.ts';

export const TILE_HEIGHT = 8;
export const TILE_WIDTH = 256;
export const TILE_LEVEL_MAX = 63;

export interface Tile {
  readonly level: number | 'entries';
  readonly index: number;
  /** How many hashes or entries it holds: 256 if it is full. */
  readonly width: number;
}

/** A tile of the tree, not of entries. */
export interface HashTile extends Tile {
  readonly level: number;
}

export function formatTilePath({ level, index, width }: Tile): string {
  const levelKnown = level === 'entries' || (isCount(level) && level <= TILE_LEVEL_MAX);
  if (!levelKnown || !isCount(index) || !isCount(width) || width < 1 || width > TILE_WIDTH)
    throw malformed(`no tile has level ${level}, index ${index} and width ${width}`);
  const digits = String(index);
  const groups = digits.padStart(Math.ceil(digits.length / 3) * 3, '0').match(/\d{3}/g)!;
  const path = groups.map((group, i) => (i + 1 < groups.length ? `x${group}` : group)).join('/');
  return `tile/${level}/${path}${width === TILE_WIDTH ? '' : `.p/${width}`}`;
}

/** 2^53 has six groups of three digits. */
const TILE_PATH = /^tile\/(entries|\d{1,2})\/((?:x\d{3}\/){0,5}\d{3})(?:\.p\/(\d{1,3}))?$/;

export function parseTilePath(path: string): Tile {
  const [, level, index, width] = TILE_PATH.exec(path) ?? [];
  if (level === undefined || index === undefined) throw notCanonical(path);
  const tile: Tile = {
    level: level === 'entries' ? level : Number(level),
    index: Number(index.replace(/[x/]/g, '')),
    width: width === undefined ? TILE_WIDTH : Number(width),
  };
  if (formatTilePath(tile) !== path) throw notCanonical(path);
  return tile;
}

function notCanonical(path: string): EvidenceError {
  return malformed(`not the path of a tile: ${JSON.stringify(path.slice(0, 80))}`);
}

/** How many hashes the tile has in a tree of that size: 256 if it is full, 0 if it is not there. */
export function tileWidth(level: Tile['level'], index: number, size: number): number {
  const hashes = Math.floor(size / leavesPerHash(level));
  return Math.max(0, Math.min(TILE_WIDTH, hashes - index * TILE_WIDTH));
}

/** The tree sizes that have exactly this tile: from `from` up to, not with, `to`. */
export function tileSizes({ level, index, width }: Tile): { from: number; to: number } {
  const leaves = leavesPerHash(level);
  const hashes = index * TILE_WIDTH + width;
  return { from: hashes * leaves, to: width === TILE_WIDTH ? Infinity : (hashes + 1) * leaves };
}

function leavesPerHash(level: Tile['level']): number {
  return level === 'entries' ? 1 : TILE_WIDTH ** level;
}

/** Every tile of hashes that a tree of that size has, level 0 first. Those of level 0 name the bundles too. */
export function* tilesOf(size: number): Generator<HashTile> {
  if (!isCount(size)) throw malformed(`tree size is ${size}`);
  for (let level = 0; leavesPerHash(level) <= size; level++) {
    for (let index = 0; ; index++) {
      const width = tileWidth(level, index, size);
      if (width === 0) break;
      yield { level, index, width };
    }
  }
}

export function encodeTile(hashes: readonly Uint8Array[]): Uint8Array {
  if (hashes.length < 1 || hashes.length > TILE_WIDTH || !hashes.every(isHash))
    throw malformed(`tile of ${hashes.length} hashes; a tile has 1 to 256, of 32 bytes`);
  return concat(...hashes);
}

/** Views into the bytes, not copies. */
export function decodeTile(bytes: Uint8Array, width: number): Uint8Array[] {
  if (width < 1 || width > TILE_WIDTH || bytes.length !== width * HASH_BYTES)
    throw malformed(`tile of width ${width} is ${bytes.length} bytes`);
  return Array.from({ length: width }, (_, i) => bytes.subarray(i * HASH_BYTES, (i + 1) * HASH_BYTES));
}
