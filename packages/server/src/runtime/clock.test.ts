import assert from 'node:assert/strict';
import { test } from 'node:test';
import { instant, systemClock, wait } from './clock.ts';
import { createFakeClock } from '../testing/fake-clock.ts';

test('the monotonic clock never goes back and counts nanoseconds', async () => {
  const beforeNs = systemClock.monotonicNs();
  await wait(systemClock, 20);
  const elapsedNs = systemClock.monotonicNs() - beforeNs;
  assert.ok(elapsedNs >= 19e6 && elapsedNs < 5e9, `waited ${elapsedNs} ns`);
});

test('a wait ends early when its signal aborts, and at once when it already has', async () => {
  const clock = createFakeClock();
  const stop = new AbortController();
  const waiting = wait(clock, 60_000, stop.signal);
  assert.equal(clock.pending(), 1);
  stop.abort();
  await waiting;
  assert.equal(clock.pending(), 0, 'the timer is called off');
  await wait(clock, 60_000, stop.signal);
  assert.equal(clock.pending(), 0);
});

test('a timer longer than Node can hold does not fire at once', async () => {
  let fired = false;
  const timer = systemClock.after(2 ** 31 + 1000, () => {
    fired = true;
  });
  await wait(systemClock, 20);
  timer.cancel();
  assert.equal(fired, false);
});

test('a cancelled timer does not fire', async () => {
  let fired = false;
  systemClock.after(5, () => (fired = true)).cancel();
  await wait(systemClock, 20);
  assert.equal(fired, false);
});

test('the fake clock fires timers in the order of their due time, and those that they set', async () => {
  const clock = createFakeClock(1000);
  const seen: string[] = [];
  clock.after(30, () => seen.push(`c${clock.now()}`));
  clock.after(10, () => {
    seen.push(`a${clock.now()}`);
    clock.after(10, () => seen.push(`b${clock.now()}`));
  });
  await clock.advance(25);
  assert.deepEqual(seen, ['a1010', 'b1020']);
  assert.equal(clock.now(), 1025);
  await clock.advance(5);
  assert.deepEqual(seen, ['a1010', 'b1020', 'c1030']);
});

test('a leap of the fake clock fires each timer once, late, and moves both clocks', async () => {
  const clock = createFakeClock(1000);
  const seen: number[] = [];
  const again = () => {
    seen.push(clock.now());
    clock.after(10, again);
  };
  clock.after(10, again);
  clock.after(200, () => seen.push(-1));
  await clock.leap(100);
  assert.deepEqual([seen, clock.now(), clock.monotonicNs()], [[1100], 1100, 100e6]);
  await clock.advance(10);
  assert.deepEqual(seen, [1100, 1110]);
});

test('turning the fake wall clock back leaves the monotonic one and the timers alone', async () => {
  const clock = createFakeClock(10_000);
  let fired = false;
  clock.after(100, () => (fired = true));
  clock.setNow(5000);
  assert.equal(clock.monotonicNs(), 0);
  await clock.advance(100);
  assert.equal(fired, true);
  assert.equal(clock.now(), 5100);
});

test('an instant is the text that a date has, whatever was shown before it', () => {
  for (let i = 0; i < 3000; i++) {
    const ms = Math.floor((i % 2 === 0 ? i * 977_777_777 : 253_402_300_799_999 - i * 86_399_999) - 5e11);
    for (const each of [ms, ms + 1, ms + 0.5]) assert.equal(instant(each), new Date(each).toISOString());
  }
  assert.throws(() => instant(Number.NaN), RangeError);
});

test('an instant is shown in UTC with milliseconds', () => {
  assert.equal(instant(0), '1970-01-01T00:00:00.000Z');
  assert.equal(instant(1767323046000), '2026-01-02T03:04:06.000Z');
});
