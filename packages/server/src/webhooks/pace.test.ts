import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFakeClock } from '../testing/fake-clock.ts';
import { Pace, TURN_MS_MAX, WINDOW_MAX, WINDOW_MIN } from './pace.ts';

const ORIGIN = 'https://one.example.com';

/** Takes a turn whenever there is one within reach, for so many seconds; the moments at which deliveries go out. */
async function sentIn(
  seconds: number,
  pace: Pace,
  clock: ReturnType<typeof createFakeClock>,
  lanes: string[],
) {
  const atMs: number[] = [];
  for (let ms = 0; ms < seconds * 1000; ms++) {
    for (const lane of lanes)
      for (;;) {
        const turnMs = pace.turnMs('acme', lane, ORIGIN);
        if (turnMs > TURN_MS_MAX) break;
        atMs.push(clock.now() + turnMs);
      }
    await clock.leap(1);
  }
  return atMs.sort((a, b) => a - b);
}

function mostInASecond(atMs: readonly number[]): number {
  let most = 0;
  for (let first = 0, last = 0; last < atMs.length; last++) {
    while (atMs[last]! - atMs[first]! >= 1000) first++;
    most = Math.max(most, last - first + 1);
  }
  return most;
}

test('a subscription gets nearly 100 a second, and in no second more', async () => {
  const clock = createFakeClock();
  const sent = await sentIn(5, new Pace({ clock, nodes: () => 1 }), clock, ['a']);
  assert.ok(mostInASecond(sent) <= 100, `${mostInASecond(sent)} in a second`);
  assert.ok(sent.length >= 485, `${sent.length} in five seconds`);
});

test('subscriptions of a tenant to one origin share its rate, and those who are put off do not starve it', async () => {
  const clock = createFakeClock();
  const lanes = Array.from({ length: 40 }, (_, i) => `lane-${i}`);
  const sent = await sentIn(5, new Pace({ clock, nodes: () => 1 }), clock, lanes);
  assert.ok(mostInASecond(sent) <= 100, `${mostInASecond(sent)} in a second`);
  const started = sent.filter((at) => at < clock.now());
  assert.ok(started.length >= 480, `${started.length} in five seconds`);
});

test('a turn that is too far away is not taken, however often it is asked for', () => {
  const clock = createFakeClock();
  const pace = new Pace({ clock, nodes: () => 1 });
  while (pace.turnMs('acme', 'a', ORIGIN) <= TURN_MS_MAX);
  const turnMs = pace.turnMs('acme', 'a', ORIGIN);
  for (let i = 0; i < 1000; i++) assert.equal(pace.turnMs('acme', 'a', ORIGIN), turnMs);
});

test('nodes share the rate; another origin, or another tenant, has its own', async () => {
  const clock = createFakeClock();
  await clock.leap(1000);
  let nodes = 4;
  const pace = new Pace({ clock, nodes: () => nodes });
  const turns = (tenant: string, lane: string, origin: string, count: number) =>
    Array.from({ length: count }, () => Math.floor(pace.turnMs(tenant, lane, origin)));
  // Up to 20 ms are caught up with.
  assert.deepEqual(turns('acme', 'a', ORIGIN, 4), [0, 21, 62, 103]);
  assert.deepEqual(turns('acme', 'b', 'https://two.example.com', 2), [0, 21]);
  assert.deepEqual(turns('other', 'a', ORIGIN, 2), [0, 21]);
  assert.deepEqual(turns('acme', 'c', ORIGIN, 1), [144]);
  nodes = 0;
  assert.deepEqual(turns('alone', 'a', ORIGIN, 4), [0, 0, 0, 10]);
});

test('what may be under way begins small, grows with each success, and is one after a failure', () => {
  const clock = createFakeClock();
  const pace = new Pace({ clock, nodes: () => 1 });
  const left = () => pace.limits().map(({ max }) => max);
  assert.deepEqual(left(), []);
  pace.begin('acme', 'a');
  assert.deepEqual(left(), [WINDOW_MIN - 1]);
  pace.end('acme', 'a', true);
  assert.deepEqual(left(), [WINDOW_MIN + 1]);
  for (let i = 0; i < 100; i++) {
    pace.begin('acme', 'a');
    pace.end('acme', 'a', true);
  }
  assert.deepEqual(left(), [WINDOW_MAX]);
  pace.begin('acme', 'a');
  pace.begin('acme', 'a');
  pace.end('acme', 'a', false);
  assert.deepEqual(left(), [0]);
  pace.end('acme', 'a', false);
  assert.deepEqual(left(), [1]);
});

test('a lane that nothing was sent to for a minute is forgotten, and begins small again', async () => {
  const clock = createFakeClock();
  const pace = new Pace({ clock, nodes: () => 1 });
  pace.begin('acme', 'a');
  await clock.leap(61_000);
  assert.equal(pace.limits().length, 1, 'one is still under way');
  pace.end('acme', 'a', true);
  assert.equal(pace.limits().length, 1);
  await clock.leap(61_000);
  assert.deepEqual(pace.limits(), []);
});
