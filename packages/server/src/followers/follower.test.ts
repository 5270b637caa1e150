import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFakeClock } from '../testing/fake-clock.ts';
import { createSystemRandom } from '../runtime/random.ts';
import { createFollower } from './follower.ts';
import type { FollowerTurn } from './follower-work.ts';

const TURN: FollowerTurn = { isMore: true, taken: 4000, logs: [], isAll: true, setAside: [] };

/** When it took its turns within some seconds, and the first one that found nothing more to do. */
async function turnsOf(
  turns: readonly FollowerTurn[],
  isPressedAt: (ms: number) => boolean = () => false,
  isWoken = false,
): Promise<number[]> {
  const clock = createFakeClock(0);
  const taken: number[] = [];
  const telemetry = { error: assert.fail, warn: assert.fail };
  await using follower = createFollower({
    name: 'the follower',
    work: {
      turn: async () => turns[taken.push(clock.now()) - 1] ?? { ...TURN, isMore: false, taken: 0 },
    },
    clock,
    random: createSystemRandom(),
    telemetry,
    isPressed: () => isPressedAt(clock.now()),
  });
  follower.start();
  for (let i = 0; i < 300; i++) {
    if (isWoken) follower.wake();
    await clock.advance(i % 5 === 4 ? 100 : 0);
  }
  return taken.slice(0, turns.length + 1);
}

test('it goes on at once while there is more', async () => {
  assert.deepEqual(await turnsOf([TURN, TURN]), [0, 0, 0]);
});

test('what arrives one by one is gathered, and nobody need wake it', async () => {
  assert.deepEqual(await turnsOf([{ ...TURN, isMore: false, taken: 1 }]), [0, 1500]);
});

test('it stands back while appending has all hands full', async () => {
  const one = { ...TURN, isMore: false };
  assert.deepEqual(await turnsOf([one, one], (ms) => ms < 700), [700, 2200, 3700]);
});

test('it stands back for two seconds at most, and not at all when it is behind', async () => {
  const one = { ...TURN, isMore: false };
  assert.deepEqual(await turnsOf([TURN, TURN, one], () => true, true), [2000, 2000, 2000, 4000]);
});

test('a portion that was begun before appending had all hands full is not followed by others at once', async () => {
  const one = { ...TURN, isMore: false };
  const isPressedAfter = (() => {
    let isFirst = true;
    return () => !isFirst || (isFirst = false);
  })();
  assert.deepEqual(await turnsOf([TURN, TURN, one], isPressedAfter, true), [0, 2000, 2000, 4000]);
});
