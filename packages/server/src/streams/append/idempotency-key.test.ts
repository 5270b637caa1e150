import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFakeClock } from '../../testing/fake-clock.ts';
import { idempotencyNowMs } from './idempotency-key.ts';

test('a key lives 24 hours from the later of wall clock and steady time', () => {
  const clock = createFakeClock(1000);
  assert.equal(
    idempotencyNowMs({ clock, steadyNowMs: () => 400 }),
    1000,
    'the clock was behind at the start',
  );
  assert.equal(idempotencyNowMs({ clock, steadyNowMs: () => 5000 }), 5000, 'the clock was set back since');
});
