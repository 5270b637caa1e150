// P12 over the interface: events are sent, held, redacted, erased and purged in any order, one person's or all of the tenant; the
// service is killed, stopped, and put back to a copy; keys are rotated in between. At every step every proof that was ever given
// holds, and the log has only grown. Nobody sees again what is gone, what is held stays, and in the end nothing is left of what went.
// The number of steps and the seed can be set: DELETION_STEPS, DELETION_SEED.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { BACKENDS, type Backend } from './backends.ts';
import { DeletionWorld } from './deletions/world.ts';
import { SIZE } from './size.ts';

const { DELETION_SEED: seedAsked, DELETION_STEPS: stepsAsked } = process.env;
const SEEDS = seedAsked !== undefined ? [Number(seedAsked)] : SIZE.isLong ? [1, 2, 3] : [1];
/** In short, on PostgreSQL, where each step takes long: what is always done, each way to delete once. */
const stepsOn = (name: string) =>
  Number(stepsAsked ?? (SIZE.isLong || name === 'SQLite' ? SIZE.deletions : 0));

for (const [name, open] of Object.entries(BACKENDS) as [string, () => Promise<Backend>][])
  for (const seed of SEEDS)
    test(`holds, redactions, erasures and purges in any order break no proof on ${name} (seed ${seed})`, async (t) => {
      await using backend = await open();
      await using world = await DeletionWorld.open(backend, seed);
      for (let step = 0; step < stepsOn(name); step++) await world.step();
      await world.stepEach();
      await world.settle();
      assert.ok(world.proofCount > 0 && world.goneCount > 0, 'something was proven, and something is gone');
      t.diagnostic(world.account());
    });

const BREAKING = join(import.meta.dirname, 'processes/break-rule.ts');
const SENDS = ['send', 'send', 'send'];

/** What is done until it is found, and by which words. */
const RULES: Readonly<
  Record<string, readonly [found: RegExp, use: (world: DeletionWorld) => Promise<void>]>
> = {
  BeyondNotice: [
    /GAP_UNEXPLAINED|"Altered"/,
    async (world) => {
      for (let i = 0; i < 20; i++) await world.steps(...SENDS, 'verify');
    },
  ],
  StaysInStore: [
    /of what is gone, .* has [0-9a-f]{32}/,
    async (world) => {
      await world.steps(...SENDS, 'redact', 'redact', 'redact');
      await world.settle(2000);
    },
  ],
};

/** On one backend with every `npm test`. */
const CONTROLLED = SIZE.isLong ? Object.entries(BACKENDS) : [['SQLite', BACKENDS.SQLite] as const];
for (const [name, open] of CONTROLLED)
  for (const [rule, [found, use]] of Object.entries(RULES))
    test(`control: a service on ${name} that breaks the rule ${rule} is found out`, async () => {
      await using backend = await open();
      const env = { BROKEN_RULE: rule };
      await using world = await DeletionWorld.open(backend, 1, { script: BREAKING, env });
      await assert.rejects(use(world), (error: Error) => {
        assert.match(`${error.message} ${String(error.cause)}`, found);
        return true;
      });
    });
