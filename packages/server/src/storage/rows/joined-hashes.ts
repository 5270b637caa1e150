// The hashes of a tile as a database has joined them, one behind the other.

import { EvidenceError, type HashTile } from '@tallystick/evidence';
import { blobOf, numberOf } from './columns.ts';

/**
 * The bytes of the tile, of a row that says how many hashes were found, how many of them are as long as one, and has all
 * of them joined; throws EvidenceError where these are not those of the tile.
 */
export function tileIn(
  row: Readonly<Record<string, unknown>> | undefined,
  origin: string,
  { level, index, width }: HashTile,
): Uint8Array {
  const count = numberOf(row, 'count');
  if (count !== width) {
    const message = `${origin} has ${count} of ${width} hashes of its tile ${level}/${index}`;
    throw new EvidenceError('TRUNCATED', message);
  }
  if (numberOf(row, 'whole') !== width)
    throw new EvidenceError('MALFORMED', `${origin} has a hash in its tile ${level}/${index} that is none`);
  return blobOf(row, 'hashes');
}
