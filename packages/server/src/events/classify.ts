// How far an event may be seen: the tenant's default, raised by what its sender hints at, never lowered by it.

import { type Classification, CLASSIFICATIONS } from '@tallystick/contract';

export function classify(byDefault: Classification, hint: Classification | undefined): Classification {
  return hint === undefined || isAtLeast(byDefault, hint) ? byDefault : hint;
}

export function isAtLeast(classification: Classification, other: Classification): boolean {
  return CLASSIFICATIONS.indexOf(classification) >= CLASSIFICATIONS.indexOf(other);
}
