// How far an event may be seen: the tenant's default, raised by what its sender hints at, never lowered by it.

import type { Classification } from '@tallystick/contract';

const RANK = { Public: 0, Internal: 1, Confidential: 2, Secret: 3 } as const satisfies Record<
  Classification,
  number
>;

export function classify(byDefault: Classification, hint: Classification | undefined): Classification {
  return hint === undefined || isAtLeast(byDefault, hint) ? byDefault : hint;
}

export function isAtLeast(classification: Classification, other: Classification): boolean {
  return RANK[classification] >= RANK[other];
}
