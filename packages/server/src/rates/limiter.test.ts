// One limiter on a clock that stands still.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFakeClock } from '../testing/fake-clock.ts';
import { Limiter, type LimiterSettings, type RateState } from './limiter.ts';
import { LocalCounter } from './local-counter.ts';

function build(settings: Partial<LimiterSettings> = {}) {
  const clock = createFakeClock();
  const counter = new LocalCounter(clock);
  const all = { name: 'Global', windowMs: 1000, autoReplenishment: true, queueLimit: 0, ...settings };
  return { clock, counter, limiter: new Limiter(all, counter, clock) };
}

const atOnce = (taken: RateState | Promise<RateState>): RateState => {
  assert.ok(!(taken instanceof Promise), 'nobody has to wait');
  return taken;
};

test('a window has its permits and no more; the next one has them again', async () => {
  const { clock, limiter } = build();
  const take = () => atOnce(limiter.take('a', 5));
  for (const remaining of [4, 3, 2, 1, 0]) {
    assert.deepEqual(take(), {
      limiter: 'Global',
      limit: 5,
      remaining,
      isGranted: true,
      windowMs: 1000,
      resetsInMs: 1000,
    });
  }
  await clock.advance(400);
  assert.deepEqual(take(), {
    limiter: 'Global',
    limit: 5,
    remaining: 0,
    isGranted: false,
    windowMs: 1000,
    resetsInMs: 600,
  });
  await clock.advance(600);
  assert.equal(take().remaining, 4);
});

test('a window begins with the first request of its partition, and partitions do not touch one another', async () => {
  const { clock, limiter } = build();
  atOnce(limiter.take('a', 1));
  await clock.advance(900);
  assert.equal(atOnce(limiter.take('b', 1)).isGranted, true);
  await clock.advance(100);
  assert.equal(atOnce(limiter.take('a', 1)).isGranted, true);
  assert.equal(atOnce(limiter.take('b', 1)).isGranted, false);
});

test('without replenishment permits come back only when they are given back', async () => {
  const { clock, limiter } = build({ autoReplenishment: false });
  assert.equal(atOnce(limiter.take('a', 1)).isGranted, true);
  await clock.advance(3_600_000);
  assert.deepEqual(
    { ...atOnce(limiter.take('a', 1)) },
    { limiter: 'Global', limit: 1, remaining: 0, isGranted: false, windowMs: 1000, resetsInMs: 1000 },
  );
  await limiter.replenish();
  assert.equal(atOnce(limiter.take('a', 1)).isGranted, true);
});

test('as many wait as may, the oldest is served first, and who comes later is refused', async () => {
  const { clock, limiter } = build({ queueLimit: 2 });
  const served: string[] = [];
  const wait = (name: string) => {
    const taken = limiter.take('a', 1);
    assert.ok(taken instanceof Promise);
    void taken.then(({ isGranted }) => served.push(`${name} ${isGranted}`));
  };
  atOnce(limiter.take('a', 1));
  wait('first');
  wait('second');
  assert.equal(atOnce(limiter.take('a', 1)).isGranted, false);
  await clock.advance(1002);
  assert.deepEqual(served, ['first true']);
  await clock.advance(1002);
  assert.deepEqual(served, ['first true', 'second true']);
  assert.equal(clock.pending(), 0);
});

test('one that has hung up takes no permit', async () => {
  const { clock, limiter } = build({ queueLimit: 5 });
  atOnce(limiter.take('a', 1));
  const gone = limiter.take('a', 1, () => true);
  const there = limiter.take('a', 1);
  await clock.advance(1002);
  assert.equal((await gone).isGranted, false);
  assert.equal((await there).isGranted, true);
});

test('nobody waits for longer than a request may take', async () => {
  const { clock, limiter } = build({ queueLimit: 5, autoReplenishment: false });
  atOnce(limiter.take('a', 1));
  const waiting = limiter.take('a', 1);
  await clock.advance(30_001);
  assert.equal((await waiting).isGranted, false);
  assert.equal(clock.pending(), 0);
});

test('those who wait are served when permits are given back', async () => {
  const { limiter } = build({ queueLimit: 5, autoReplenishment: false });
  atOnce(limiter.take('a', 1));
  const waiting = limiter.take('a', 1);
  await limiter.replenish();
  assert.equal((await waiting).isGranted, true);
});

test('who is refused because the queue is full is told when permits come back', async () => {
  const { clock, limiter } = build({ queueLimit: 1, windowMs: 60_000 });
  atOnce(limiter.take('a', 1));
  await clock.advance(58_000);
  const waiting = limiter.take('a', 1);
  assert.equal(atOnce(limiter.take('a', 1)).resetsInMs, 2000);
  await clock.advance(1500);
  assert.equal(atOnce(limiter.take('a', 1)).resetsInMs, 500);
  await clock.advance(502);
  assert.equal((await waiting).isGranted, true);
});

test('a process that stops lets nobody wait', async () => {
  const { clock, limiter } = build({ queueLimit: 5, autoReplenishment: false });
  atOnce(limiter.take('a', 1));
  const waiting = [limiter.take('a', 1), limiter.take('a', 1)];
  limiter.stopWaiting();
  for (const each of waiting) assert.equal((await each).isGranted, false);
  assert.equal(atOnce(limiter.take('a', 1)).isGranted, false);
  assert.equal(atOnce(limiter.take('b', 1)).isGranted, true, 'there are permits');
  await clock.advance(60_000);
  assert.equal(clock.pending(), 0);
});

test('where counts cannot be forgotten, the one who asked is told, and who waits here is served', async () => {
  const clock = createFakeClock();
  const here = new LocalCounter(clock);
  const counter = {
    add: (partition: string, windowMs: number | undefined) => here.add(partition, windowMs),
    clear: () => {
      here.clear();
      return Promise.reject(new Error('away'));
    },
  };
  const settings = { name: 'Global', windowMs: 1000, autoReplenishment: false, queueLimit: 1 };
  const limiter = new Limiter(settings, counter, clock);
  atOnce(limiter.take('a', 1));
  const waiting = limiter.take('a', 1);
  await assert.rejects(limiter.replenish(), /away/);
  assert.equal((await waiting).isGranted, true);
});

test('windows that are over are forgotten as new ones begin', async () => {
  const { clock, counter, limiter } = build();
  for (let i = 0; i < 1000; i++) atOnce(limiter.take(`a${i}`, 1));
  assert.equal(counter.size, 1000);
  await clock.advance(1001);
  for (let i = 0; i < 1000; i++) atOnce(limiter.take(`b${i}`, 1));
  assert.equal(counter.size, 1000);
});

test('however many partitions there are, so many are remembered', () => {
  const { counter, limiter } = build({ windowMs: 3_600_000 });
  for (let i = 0; i < 100_500; i++) atOnce(limiter.take(`a${i}`, 1));
  assert.equal(counter.size, 100_000);
  assert.equal(atOnce(limiter.take('a100499', 1)).isGranted, false);
  assert.equal(atOnce(limiter.take('a0', 1)).isGranted, true);
});
