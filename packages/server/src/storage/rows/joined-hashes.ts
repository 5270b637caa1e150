// The hashes of a tile, concatenated by the database.

import { EvidenceError, type HashTile } from '@tallystick/evidence';
import { blobOf, numberOf } from './columns.ts';

/**
 * The bytes of the tile, from a row with the number of hashes found, the number with the right length, and their
 * concatenation; throws EvidenceError if they do not make up the tile.
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
    throw new EvidenceError(
      'MALFORMED',
      `${origin} has a hash in its tile ${level}/${index} that is not 32 bytes`,
    );
  return blobOf(row, 'hashes');
}
