// The column `entries.classification`: a place in the list of the schema, one bit each where several are asked for.

import type { Classification } from '@tallystick/contract';
import { numberOf } from './columns.ts';
import { CLASSIFICATIONS } from './schema.ts';

export function classificationIn(row: Readonly<Record<string, unknown>>): Classification {
  const place = numberOf(row, 'classification');
  const classification = CLASSIFICATIONS[place];
  if (classification === undefined) throw new Error(`there is no classification ${place}`);
  return classification;
}

/** For `(? >> classification) & 1`. */
export function bitsOf(classifications: readonly Classification[]): number {
  return classifications.reduce((bits, each) => bits | (1 << CLASSIFICATIONS.indexOf(each)), 0);
}
