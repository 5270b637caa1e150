// The hashes of a served log, as far as they are asked for, out of tiles that lead to the signed root. The partial tiles
// at the right edge give the root itself, and every other tile is hashed into the tile above it, up to one of those. So
// a tile that was altered is told from a log that was: the first is ROOT_MISMATCH, whatever the log has signed.

import {
  type Checkpoint,
  CompactRange,
  decodeTile,
  equalBytes,
  EvidenceError,
  formatTilePath,
  type HashReader,
  type Tile,
  TILE_HEIGHT,
  TILE_WIDTH,
  tileHashReader,
  tilesRead,
  tileWidth,
  treeRoot,
} from '@tallystick/evidence';
import type { ServedLog } from './served-log.ts';

type HashTile = Tile & { readonly level: number };

/** What `read` will ask for in the log of that checkpoint; throws EvidenceError where tiles do not lead to its root. */
export async function authenticHashes(
  log: Pick<ServedLog, 'tile'>,
  { size, root }: Pick<Checkpoint, 'size' | 'root'>,
  read: (hashes: HashReader) => unknown,
): Promise<HashReader> {
  const edge = tilesRead(size, (hashes) => treeRoot(size, hashes));
  const inside = withParents(tilesRead(size, read), edge, size);
  const bytes = new Map<string, Uint8Array>();
  await Promise.all(
    [...edge, ...inside].map(async (tile) => bytes.set(formatTilePath(tile), await log.tile(tile))),
  );
  const hashes = tileHashReader(size, (tile) => bytes.get(formatTilePath(tile))!);
  if (!equalBytes(treeRoot(size, hashes), root)) {
    const paths = edge.map(formatTilePath).join(', ');
    throw new EvidenceError('ROOT_MISMATCH', `what is served does not lead to the signed root: ${paths}`);
  }
  // From the top down, so that the first fault is told where it is.
  for (const tile of inside.toSorted((a, b) => b.level - a.level)) {
    const path = formatTilePath(tile);
    const own = CompactRange.of(0, decodeTile(bytes.get(path)!, tile.width)).root();
    if (equalBytes(own, hashes(TILE_HEIGHT * (tile.level + 1), tile.index))) continue;
    throw new EvidenceError('ROOT_MISMATCH', `${path} does not lead to the signed root`);
  }
  return hashes;
}

/** Tiles that are not at the edge are full: each has its hash in a tile of the next level. */
function withParents(tiles: readonly HashTile[], edge: readonly HashTile[], size: number): HashTile[] {
  const known = new Set(edge.map(formatTilePath));
  const found: HashTile[] = [];
  for (let tile of tiles) {
    while (!known.has(formatTilePath(tile))) {
      known.add(formatTilePath(tile));
      found.push(tile);
      const [level, index] = [tile.level + 1, Math.floor(tile.index / TILE_WIDTH)];
      tile = { level, index, width: tileWidth(level, index, size) };
    }
  }
  return found;
}
