import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFakeClock } from '../testing/fake-clock.ts';
import { type Done, Pace } from './making-progress.ts';

const BEGUN = { processedEvents: 100, totalEvents: 1000, writtenEvents: 100, share: 0.1, isBound: false };

test('a run tells its pace and its end once there is something to tell by', async () => {
  const clock = createFakeClock();
  const pace = new Pace(clock);
  assert.deepEqual(pace.progress(BEGUN), {
    processedEvents: 100,
    totalEvents: 1000,
    percent: 10,
    share: 0.1,
  });
  await clock.advance(500);
  const soon: Done = { ...BEGUN, processedEvents: 150, writtenEvents: 150, share: 0.15 };
  assert.equal(pace.progress(soon).eventsPerSecond, undefined);
  await clock.advance(1500);
  const later: Done = { ...BEGUN, processedEvents: 300, writtenEvents: 300, share: 0.3 };
  assert.deepEqual(pace.progress(later), {
    processedEvents: 300,
    totalEvents: 1000,
    percent: 30,
    share: 0.3,
    eventsPerSecond: 100,
    estimatedAtMs: clock.now() + 7000,
  });
});

test('nothing is promised where the share says nothing about the rest, or does not grow', async () => {
  const clock = createFakeClock();
  const pace = new Pace(clock);
  pace.progress(BEGUN);
  await clock.advance(2000);
  const bound = pace.progress({ ...BEGUN, writtenEvents: 300, share: 0.3, isBound: true });
  assert.deepEqual([bound.eventsPerSecond, bound.estimatedAtMs], [100, undefined]);
  assert.equal(pace.progress(BEGUN).estimatedAtMs, undefined);
});

test('what is not in its place is not complete', () => {
  const clock = createFakeClock();
  assert.equal(new Pace(clock).progress({ ...BEGUN, share: 1 }).percent, 99);
});
