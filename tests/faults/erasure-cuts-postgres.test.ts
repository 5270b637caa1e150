// P12 on PostgreSQL: kills behind the commits of an erasure.

import { test } from 'node:test';
import { BACKENDS } from './backends.ts';
import { type ErasureCut, requireErasuresSurvive } from './erasure-cuts.ts';
import { SIZE } from './size.ts';

/** In short, in turn: at the request, and in the middle. */
const PARTS = { Person: 0, Tenant: 1 / 2 } as const;

for (const scope of ['Person', 'Tenant'] as const) {
  const cutsAmong = (commits: number): readonly ErasureCut[] =>
    SIZE.isLong ? Array.from({ length: commits + 1 }, (_, i) => i) : [Math.floor(PARTS[scope] * commits)];
  test(`an erasure of a ${scope.toLowerCase()} that is killed goes on by itself, and leaves nothing`, async (t) => {
    t.diagnostic(await requireErasuresSurvive(BACKENDS.PostgreSQL, scope, cutsAmong));
  });
}
