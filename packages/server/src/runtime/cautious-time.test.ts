import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createCautiousTime } from './cautious-time.ts';

const HOUR_MS = 3_600_000;
const BEGIN_MS = 1_767_323_046_000;

function clockWith() {
  const state = { wallMs: BEGIN_MS, elapsedMs: 5000 };
  const time = createCautiousTime({ now: () => state.wallMs, monotonicNs: () => state.elapsedMs * 1e6 });
  const pass = (ms: number) => {
    state.wallMs += ms;
    state.elapsedMs += ms;
    return time();
  };
  return { state, pass };
}

test('it goes on with the wall clock', () => {
  const { pass } = clockWith();
  assert.equal(pass(0), BEGIN_MS);
  for (let hours = 1; hours < 50; hours++) assert.equal(pass(HOUR_MS), BEGIN_MS + hours * HOUR_MS);
});

test('a jump ahead and back leaves no trace', () => {
  const { state, pass } = clockWith();
  pass(0);
  state.wallMs += 1000 * HOUR_MS;
  for (let hours = 1; hours < 20; hours++) assert.equal(pass(HOUR_MS), BEGIN_MS + hours * HOUR_MS);
  state.wallMs -= 1000 * HOUR_MS;
  for (let hours = 20; hours < 60; hours++) assert.equal(pass(HOUR_MS), BEGIN_MS + hours * HOUR_MS);
});

test('a jump ahead is believed after a day, and a jump back at once', () => {
  const { state, pass } = clockWith();
  pass(0);
  state.wallMs += 10 * HOUR_MS;
  assert.equal(pass(0), BEGIN_MS);
  for (let hours = 1; hours < 24; hours++) assert.equal(pass(HOUR_MS), BEGIN_MS + hours * HOUR_MS);
  assert.equal(pass(HOUR_MS), state.wallMs);
  state.wallMs -= 3 * HOUR_MS;
  assert.equal(pass(1), state.wallMs);
});

test('of two jumps ahead, the second is believed a day after it came', () => {
  const { state, pass } = clockWith();
  pass(0);
  state.wallMs += HOUR_MS;
  pass(0);
  pass(12 * HOUR_MS);
  state.wallMs += HOUR_MS;
  pass(0);
  assert.equal(pass(12 * HOUR_MS), state.wallMs - HOUR_MS);
  assert.equal(pass(12 * HOUR_MS), state.wallMs);
});
