import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFakeClock } from '../testing/fake-clock.ts';
import { createSteadyTime } from './steady-time.ts';

test('steady time begins with the wall clock and does not jump with it', async () => {
  const clock = createFakeClock(1_000_000);
  const steadyNowMs = createSteadyTime(clock);
  assert.equal(steadyNowMs(), 1_000_000);
  await clock.advance(1500);
  clock.setNow(5);
  assert.equal(steadyNowMs(), 1_001_500);
  clock.setNow(9_000_000);
  await clock.advance(1);
  assert.equal(steadyNowMs(), 1_001_501);
});
