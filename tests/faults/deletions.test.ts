// P12 over the interface: events are sent, held, redacted, erased and purged in any order, the service is killed and started again,
// and keys are rotated in between. No proof that was ever given breaks, nobody sees again what is gone, what is held stays,
// and the store verifies at every step that looks at it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BACKENDS, type Backend } from './backends.ts';
import { DeletionWorld } from './deletions/world.ts';
import { SIZE } from './size.ts';

const SEEDS = SIZE.isLong ? [1, 2, 3, 4, 5, 6] : [1];
const STEPS = SIZE.isLong ? 600 : 40;

for (const [name, open] of Object.entries(BACKENDS) as [string, () => Promise<Backend>][])
  for (const seed of SEEDS)
    test(`holds, redactions, erasures and purges in any order break no proof on ${name} (seed ${seed})`, async (t) => {
      await using backend = await open();
      await using world = await DeletionWorld.open(backend, seed);
      for (let step = 0; step < STEPS; step++) await world.step();
      await world.settle();
      await world.verify();
      assert.ok(world.proofCount > 0 && world.goneCount > 0, 'something was proven, and something is gone');
      t.diagnostic(world.account());
    });
