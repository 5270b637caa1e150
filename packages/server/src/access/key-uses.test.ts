import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFakeClock } from '../testing/fake-clock.ts';
import { createSystemRandom } from '../runtime/random.ts';
import { createKeyUses, type KeyUse } from './key-uses.ts';

const MINUTE_MS = 60_000;
const keyOf = (n: number) => ({ keyId: `k${n}`, tenantId: 'acme' });

/** The store is a list of what was written here; the real ones are held to the claims of every backend. */
function setUp() {
  const clock = createFakeClock(0);
  const written: KeyUse[][] = [];
  const warnings: string[] = [];
  const state: { fails: boolean; during: (() => void) | undefined } = { fails: false, during: undefined };
  const uses = createKeyUses({
    store: {
      async keep(portion) {
        if (state.fails) throw new Error('the disk is full');
        state.during?.();
        written.push([...portion]);
      },
      lastUses: async () => new Map([['k1', 500]]),
    },
    clock,
    random: createSystemRandom(),
    telemetry: { warn: (message) => void warnings.push(message), error: () => assert.fail() },
  });
  const use = (n: number) => uses.used(keyOf(n), clock.now());
  return { clock, uses, use, written, warnings, state };
}

test('a thousand uses of a key are one write, a minute later', async () => {
  const { clock, uses, use, written } = setUp();
  await using _ = uses;
  uses.start();
  for (let i = 0; i < 1000; i++) {
    use(1);
    await clock.advance(10);
  }
  use(2);
  assert.deepEqual(written, []);
  await clock.advance(MINUTE_MS);
  assert.deepEqual(written, [
    [
      { ...keyOf(1), usedAtMs: 9990 },
      { ...keyOf(2), usedAtMs: 10_000 },
    ],
  ]);
  await clock.advance(10 * MINUTE_MS);
  assert.equal(written.length, 1, 'a key that nobody uses is not written again');
});

test('what was used since the last write is written when the service stops', async () => {
  const { uses, use, written } = setUp();
  uses.start();
  use(1);
  await uses[Symbol.asyncDispose]();
  assert.deepEqual(written, [[{ ...keyOf(1), usedAtMs: 0 }]]);
});

test('what could not be written is written later, by its newest use', async () => {
  const { clock, uses, use, written, warnings, state } = setUp();
  state.fails = true;
  uses.start();
  use(1);
  await clock.advance(2 * MINUTE_MS);
  assert.ok(warnings.length > 0);
  use(1);
  state.fails = false;
  await clock.advance(2 * MINUTE_MS);
  assert.deepEqual(written, [[{ ...keyOf(1), usedAtMs: 2 * MINUTE_MS }]]);
  state.fails = true;
  use(1);
  await uses[Symbol.asyncDispose]();
  assert.match(warnings.at(-1)!, /could not be saved/, 'a stop goes on without it');
});

test('a use during a write is not lost with it', async () => {
  const { clock, uses, use, written, state } = setUp();
  await using _ = uses;
  uses.start();
  use(1);
  state.during = () => uses.used(keyOf(1), clock.now() + 1);
  await clock.advance(MINUTE_MS);
  state.during = undefined;
  await clock.advance(MINUTE_MS);
  assert.deepEqual(
    written.map(([first]) => first?.usedAtMs),
    [0, MINUTE_MS + 1],
  );
});

test('many keys go in portions, each key once', async () => {
  const { clock, uses, use, written } = setUp();
  await using _ = uses;
  uses.start();
  for (let n = 0; n < 2500; n++) use(n);
  await clock.advance(MINUTE_MS);
  assert.deepEqual(
    written.map(({ length }) => length),
    [1000, 1000, 500],
  );
  assert.equal(new Set(written.flat().map(({ keyId }) => keyId)).size, 2500);
});

test('what this node has not written yet counts, unless another has seen a later use', async () => {
  const { clock, uses } = setUp();
  await using _ = uses;
  uses.used(keyOf(1), 400);
  uses.used(keyOf(2), 700);
  // A clock that was set back does not move a use back.
  uses.used(keyOf(2), 600);
  assert.deepEqual(
    await uses.lastUses([keyOf(1), keyOf(2), keyOf(3)]),
    new Map([
      ['k1', 500],
      ['k2', 700],
    ]),
  );
  assert.equal(clock.pending(), 0);
});
