import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createHealth } from './admin/health.ts';
import { createLifecycle } from './admin/lifecycle.ts';
import { bindOperations } from './operations.ts';
import { systemClock } from './runtime/clock.ts';

const health = createHealth(systemClock, createLifecycle());
const never = () => Promise.reject(new Error('never asked'));

test('these operations need nothing but the process, and no other is bound unasked', () => {
  assert.deepEqual(Object.keys(bindOperations({ health })).sort(), [
    'health.get',
    'health.live',
    'health.ready',
    'process.live',
    'process.ready',
    'process.startup',
  ]);
});

test('an operation that honours idempotency keys and cannot answer again stops the start', () => {
  assert.throws(
    () => bindOperations({ health, events: { 'events.ingest': never } }),
    /events\.ingest honours/,
  );
  assert.throws(
    () => bindOperations({ health, events: { 'events.ingest': { take: never } } }),
    /answer again/,
  );
  assert.ok(bindOperations({ health, events: { 'events.get': never } })['events.get']);
});
