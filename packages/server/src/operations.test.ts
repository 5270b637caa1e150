import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createHealth } from './admin/health.ts';
import { createLifecycle } from './admin/lifecycle.ts';
import { bindOperations } from './operations.ts';
import { systemClock } from './runtime/clock.ts';

test('these operations are bound, and no other is served', () => {
  const bound = bindOperations({ health: createHealth(systemClock, createLifecycle()) });
  assert.deepEqual(Object.keys(bound).sort(), [
    'health.get',
    'health.live',
    'health.ready',
    'process.live',
    'process.ready',
    'process.startup',
  ]);
});
