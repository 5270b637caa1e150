import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Deadline, withDeadline } from './deadline.ts';
import { createFakeClock } from '../testing/fake-clock.ts';

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

for (const asksEarly of [true, false]) {
  test(`when the time is over, the caller gets the error and the work is told to stop, ${asksEarly ? 'while it waits' : 'when it asks later'}`, async () => {
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
        if (asksEarly) deadline.signal.addEventListener('abort', () => (told = deadline.signal.reason));
        return new Promise(() => {});
      },
    );
    const rejected = assert.rejects(waiting, LATE);
    await clock.advance(10);
    await rejected;
    if (asksEarly) assert.equal(told, LATE);
    assert.equal(seen!.signal.reason, LATE);
    assert.throws(() => seen!.throwIfPassed(), LATE);
  });
}

test('work that throws before it waits leaves no timer behind', async () => {
  const clock = createFakeClock();
  const failure = new Error('at once');
  const work = () => {
    throw failure;
  };
  await assert.rejects(
    withDeadline(clock, 10, () => LATE, work),
    failure,
  );
  assert.equal(clock.pending(), 0);
});
