import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TenantId } from '@tallystick/contract';
import { createFakeClock } from '../testing/fake-clock.ts';
import { createLogGrowth } from './log-growth.ts';

const [ACME, OTHER] = ['acme', 'other'] as [TenantId, TenantId];

test('a watch is told of the growth of its own log, also of what came before it waits', async () => {
  const clock = createFakeClock();
  const growth = createLogGrowth();
  using watch = growth.watch(ACME);
  const { signal } = new AbortController();
  growth.grew(ACME);
  await watch.wait(clock, 1000, signal);
  assert.equal(clock.now(), createFakeClock().now(), 'no time has passed');

  let isOver = false;
  const waiting = watch.wait(clock, 1000, signal).then(() => (isOver = true));
  growth.grew(OTHER);
  await clock.advance(999);
  assert.equal(isOver, false);
  growth.grew(ACME);
  await waiting;
  assert.equal(clock.pending(), 0);
});

test('it waits no longer than it is given, and not once it is to end', async () => {
  const clock = createFakeClock();
  const growth = createLogGrowth();
  const stop = new AbortController();
  using watch = growth.watch(ACME);
  const waiting = watch.wait(clock, 1000, stop.signal);
  await clock.advance(1000);
  await waiting;
  const another = watch.wait(clock, 1000, stop.signal);
  stop.abort();
  await another;
  await watch.wait(clock, 1000, stop.signal);
  assert.equal(clock.pending(), 0);
});
