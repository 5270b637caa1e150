// The column `entries.classification`: an index in a list; a set of them is a bit mask. It is not hashed; the text
// holds the same value and is.

import type { Classification } from '@tallystick/contract';
import { ColumnError, numberOf } from './columns.ts';

/** The order is part of the format: new values are added at the end. */
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
