import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Deadline, withDeadline } from './deadline.ts';
import { createFakeClock } from './fake-clock.ts';

const LATE = new Error('too late');

test('work that is done in time gives its value or its error, and leaves no timer behind', async () => {
  const clock = createFakeClock();
  assert.equal(
    await withDeadline(
      clock,
      10,
      () => LATE,
      async () => 5,
    ),
    5,
  );
  const failure = new Error('of its own');
  await assert.rejects(
    withDeadline(
      clock,
      10,
      () => LATE,
      () => Promise.reject(failure),
    ),
    failure,
  );
  assert.equal(clock.pending(), 0);
});

test('when the time is over, whoever waits is told, and so is the work, however late it asks', async () => {
  const clock = createFakeClock();
  let seen: Deadline | undefined;
  let told: unknown;
  const waiting = withDeadline(
    clock,
    10,
    () => LATE,
    (deadline) => {
      seen = deadline;
      deadline.throwIfPassed();
      deadline.signal.addEventListener('abort', () => (told = deadline.signal.reason));
      return new Promise(() => {});
    },
  );
  const rejected = assert.rejects(waiting, LATE);
  await clock.advance(10);
  await rejected;
  assert.equal(told, LATE);
  assert.throws(() => seen!.throwIfPassed(), LATE);
});

test('a signal that is asked for afterwards is aborted already', async () => {
  const clock = createFakeClock();
  let seen: Deadline | undefined;
  const waiting = withDeadline(
    clock,
    10,
    () => LATE,
    (deadline) => {
      seen = deadline;
      return new Promise(() => {});
    },
  );
  const rejected = assert.rejects(waiting, LATE);
  await clock.advance(10);
  await rejected;
  assert.equal(seen!.signal.reason, LATE);
});
