// P12 on the embedded store: kills behind the commits of an erasure.

import { test } from 'node:test';
import { BACKENDS } from './backends.ts';
import { type ErasureCut, requireErasuresSurvive } from './erasure-cuts.ts';
import { SIZE } from './size.ts';

/** In short, in turn: before the request, at it, in its first, middle and last third. */
const PARTS = { Person: [0, 2 / 3], Tenant: [1 / 3, 1] } as const;

for (const scope of ['Person', 'Tenant'] as const) {
  const cutsAmong = (commits: number): readonly ErasureCut[] => [
    'Before',
    ...(SIZE.isLong
      ? Array.from({ length: commits + 1 }, (_, i) => i)
      : PARTS[scope].map((part) => Math.floor(part * commits))),
  ];
  test(`an erasure of a ${scope.toLowerCase()} that is killed goes on by itself, and leaves nothing`, async (t) => {
    t.diagnostic(await requireErasuresSurvive(BACKENDS.SQLite, scope, cutsAmong));
  });
}
