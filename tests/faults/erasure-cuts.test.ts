// P12 on the embedded store: kills behind the commits of an erasure.

import { test } from 'node:test';
import { BACKENDS } from './backends.ts';
import { type ErasureCut, requireErasuresSurvive } from './erasure-cuts.ts';
import { SIZE } from './size.ts';

/** Short: at the request, in the first, the middle and the last third. */
function cutsAmong(commits: number): readonly ErasureCut[] {
  const all = Array.from({ length: commits + 1 }, (_, i) => i);
  return ['Before', ...(SIZE.isLong ? all : [0, 1, 2, 3].map((i) => all[Math.floor((i * commits) / 3)]!))];
}

for (const scope of ['Person', 'Tenant'] as const)
  test(`an erasure of a ${scope.toLowerCase()} that is killed goes on by itself, and leaves nothing`, async (t) => {
    t.diagnostic(await requireErasuresSurvive(BACKENDS.SQLite, scope, cutsAmong));
  });
