// The column `entries.classification`: a place in a list, one bit each where several are asked for. It is not hashed; the
// text says the same and is.

import type { Classification } from '@tallystick/contract';
import { ColumnError, numberOf } from './columns.ts';

/** The column is a place in this list, which belongs to the format: words are added at its end. */
export const CLASSIFICATIONS: readonly Classification[] = ['Public', 'Internal', 'Confidential', 'Secret'];

export const ALL_CLASSIFICATION_BITS = (1 << CLASSIFICATIONS.length) - 1;

export function classificationIn(row: Readonly<Record<string, unknown>>): Classification {
  return classificationAt(numberOf(row, 'classification'));
}

export function classificationAt(place: number): Classification {
  const classification = CLASSIFICATIONS[place];
  if (classification === undefined) throw new ColumnError(`there is no classification ${place}`);
  return classification;
}

export function bitsOf(classifications: readonly Classification[]): number {
  return classifications.reduce((bits, each) => bits | (1 << CLASSIFICATIONS.indexOf(each)), 0);
}
