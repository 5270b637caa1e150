// The column `entries.classification`: a place in the list of the schema, one bit each where several are asked for. It is
// not hashed; the text says the same and is.

import type { Classification } from '@tallystick/contract';
import { ColumnError, numberOf } from './columns.ts';
import { CLASSIFICATIONS } from './schema.ts';

const ALL_BITS = (1 << CLASSIFICATIONS.length) - 1;

/**
 * Of entries that are joined with their contents, for `bitsOf` as parameter ?3: those that such a reader may know of by
 * the column, or by what the text seems to say. Where these differ the event was changed, which is not to be hidden from
 * those whom it concerned before; so whoever asks judges again what comes. The text is looked at only where the column
 * does not settle it, and inside SQLite, so that one that may not be seen takes hardly longer than one that is not there.
 */
export const MAY_BE_SEEN = `(?3 = ${ALL_BITS} OR (?3 >> classification) & 1 OR ${CLASSIFICATIONS.map(
  (name, place) => `((?3 >> ${place}) & 1 AND instr(text1, CAST('"classification":"${name}"' AS BLOB)))`,
).join(' OR ')})`;

export function classificationIn(row: Readonly<Record<string, unknown>>): Classification {
  const place = numberOf(row, 'classification');
  const classification = CLASSIFICATIONS[place];
  if (classification === undefined) throw new ColumnError(`there is no classification ${place}`);
  return classification;
}

export function bitsOf(classifications: readonly Classification[]): number {
  return classifications.reduce((bits, each) => bits | (1 << CLASSIFICATIONS.indexOf(each)), 0);
}
