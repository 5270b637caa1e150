// P12 on PostgreSQL: kills behind the commits of an erasure.

import { test } from 'node:test';
import { BACKENDS } from './backends.ts';
import { type ErasureCut, requireErasuresSurvive } from './erasure-cuts.ts';
import { SIZE } from './size.ts';

function cutsAmong(commits: number): readonly ErasureCut[] {
  return SIZE.isLong ? Array.from({ length: commits + 1 }, (_, i) => i) : [0, Math.floor(commits / 2)];
}

for (const scope of ['Person', 'Tenant'] as const)
  test(`an erasure of a ${scope.toLowerCase()} that is killed goes on by itself, and leaves nothing`, async (t) => {
    t.diagnostic(await requireErasuresSurvive(BACKENDS.PostgreSQL, scope, cutsAmong));
  });
