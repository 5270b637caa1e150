import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFakeClock } from '../../testing/fake-clock.ts';
import { createSystemRandom } from '../../runtime/random.ts';
import { createTelemetry } from '../../telemetry.ts';
import { startIdempotencyKeySweeper } from './idempotency-key-sweeper.ts';

test('used-up keys are swept portion after portion, then again after some minutes', async () => {
  const clock = createFakeClock(0);
  const sweeps: number[] = [];
  const writer = {
    async sweepUsedKeys(steadyNowMs: number) {
      sweeps.push(steadyNowMs);
      return sweeps.length < 3;
    },
  };
  const telemetry = createTelemetry({ clock, level: 'Error', form: 'json', secrets: [], write: () => {} });
  const random = createSystemRandom();
  await using _ = startIdempotencyKeySweeper({
    writer,
    steadyNowMs: () => clock.now() + 7,
    clock,
    random,
    telemetry,
  });
  for (let i = 0; i < 5; i++) await clock.advance(0);
  assert.deepEqual(sweeps, [7, 7, 7]);
  await clock.advance(10 * 60_000);
  assert.deepEqual(sweeps.slice(3), [300_007, 600_007]);
});
