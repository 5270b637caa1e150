// Which of two classifications is the higher one.

import { type Classification, CLASSIFICATIONS } from '@tallystick/contract';

export function isAtLeast(classification: Classification, other: Classification): boolean {
  return CLASSIFICATIONS.indexOf(classification) >= CLASSIFICATIONS.indexOf(other);
}
