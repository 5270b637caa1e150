import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFakeClock, type FakeClock } from '../testing/fake-clock.ts';
import { type LoopOptions, startLoop } from './loop.ts';
import { createSystemRandom } from './random.ts';

function options(clock: FakeClock, turn: LoopOptions['turn'], more: Partial<LoopOptions> = {}): LoopOptions {
  return {
    clock,
    random: { ...createSystemRandom(), fraction: () => 0.5 },
    paceMs: 1000,
    turn,
    backOffMs: 100,
    backOffMsMax: 1000,
    onFailure: () => {},
    onBroken: () => {},
    ...more,
  };
}

test('takes the first turn at once and the next one after the pace', async () => {
  const clock = createFakeClock(0);
  const turns: number[] = [];
  await using _ = startLoop(options(clock, async () => void turns.push(clock.now())));
  await clock.advance(2500);
  assert.deepEqual(turns, [0, 1000, 2000]);
});

test('the first turn may come later, unless the loop is woken before, and is not waited for at the stop', async () => {
  const clock = createFakeClock(0);
  const turns: number[] = [];
  const turn = async () => void turns.push(clock.now());
  await using _ = startLoop(options(clock, turn, { firstMs: 500 }));
  await clock.advance(400);
  assert.deepEqual(turns, []);
  await clock.advance(1200);
  assert.deepEqual(turns, [500, 1500]);
  const woken = startLoop(options(clock, turn, { firstMs: 500 }));
  woken.wake();
  await clock.advance(0);
  assert.deepEqual(turns, [500, 1500, 1600]);
  await woken[Symbol.asyncDispose]();
  await startLoop(options(clock, turn, { firstMs: 500 }))[Symbol.asyncDispose]();
  assert.equal(turns.length, 3);
});

test('takes the next turn without a pause when there is more to do', async () => {
  const clock = createFakeClock(0);
  let turns = 0;
  await using _ = startLoop(options(clock, async () => (++turns < 5 ? 'more' : undefined)));
  for (let i = 0; i < 10; i++) await clock.advance(0);
  assert.equal(turns, 5);
});

test('wakes early, and once for many wakes', async () => {
  const clock = createFakeClock(0);
  const turns: number[] = [];
  await using loop = startLoop(options(clock, async () => void turns.push(clock.now())));
  await clock.advance(300);
  loop.wake();
  loop.wake();
  await clock.advance(500);
  assert.deepEqual(turns, [0, 300]);
});

test('never runs two turns at once; a wake during a turn brings one more', async () => {
  const clock = createFakeClock(0);
  let running = 0;
  let most = 0;
  const turns: number[] = [];
  const turn = async () => {
    most = Math.max(most, ++running);
    turns.push(clock.now());
    await new Promise<void>((resolve) => clock.after(200, resolve));
    running -= 1;
  };
  await using loop = startLoop(options(clock, turn));
  await clock.advance(100);
  loop.wake();
  await clock.advance(1000);
  assert.equal(most, 1);
  assert.deepEqual(turns, [0, 200]);
});

test('backs off after failures, doubling up to the maximum, and starts over after a success', async () => {
  const clock = createFakeClock(0);
  const turns: number[] = [];
  const failures: number[] = [];
  const turn = async () => {
    turns.push(clock.now());
    if (turns.length <= 6) throw new Error('no');
  };
  const onFailure: LoopOptions['onFailure'] = ({ nextTurnInMs }) => failures.push(nextTurnInMs);
  await using _ = startLoop(options(clock, turn, { onFailure }));
  await clock.advance(5000);
  assert.deepEqual(failures, [100, 200, 400, 800, 1000, 1000]);
  assert.deepEqual(turns, [0, 100, 300, 700, 1500, 2500, 3500, 4500]);
});

test('a wake does not shorten a back-off, so a busy producer cannot hammer a broken store', async () => {
  const clock = createFakeClock(0);
  let turns = 0;
  const turn = async () => {
    turns += 1;
    throw new Error('down');
  };
  await using loop = startLoop(options(clock, turn, { backOffMs: 1000 }));
  for (let i = 0; i < 9; i++) {
    await clock.advance(100);
    loop.wake();
  }
  assert.equal(turns, 1);
  await clock.advance(100);
  assert.equal(turns, 2);
});

test('jitter spreads a delay by a fifth either way', async () => {
  for (const [fraction, expected] of [
    [0, 80],
    [0.999_999, 120],
  ] as const) {
    const delays: number[] = [];
    const random = { ...createSystemRandom(), fraction: () => fraction };
    const onFailure: LoopOptions['onFailure'] = ({ nextTurnInMs }) => delays.push(nextTurnInMs);
    const clock = createFakeClock(0);
    await using _ = startLoop(options(clock, () => Promise.reject(new Error('no')), { random, onFailure }));
    await clock.advance(0);
    assert.deepEqual(delays, [expected]);
  }
});

test('stopping waits for the turn under way and tells it', async () => {
  const clock = createFakeClock(0);
  let finish = () => {};
  let told = false;
  const turn = async (signal: AbortSignal) => {
    signal.addEventListener('abort', () => (told = true));
    await new Promise<void>((resolve) => (finish = resolve));
  };
  const loop = startLoop(options(clock, turn));
  let stopped = false;
  const stopping = loop[Symbol.asyncDispose]().then(() => (stopped = true));
  await clock.advance(10);
  assert.deepEqual({ told, stopped }, { told: true, stopped: false });
  finish();
  await stopping;
  assert.equal(clock.pending(), 0);
});

test('stopping does not wait for a pause or a back-off', async () => {
  const clock = createFakeClock(0);
  const resting = startLoop(options(clock, async () => {}));
  const failing = startLoop(options(clock, () => Promise.reject(new Error('no'))));
  await clock.advance(0);
  await Promise.all([resting[Symbol.asyncDispose](), failing[Symbol.asyncDispose]()]);
  assert.equal(clock.pending(), 0);
});

test('a broken invariant ends the loop', async () => {
  const clock = createFakeClock(0);
  let turns = 0;
  let broken = '';
  const turn = async () => {
    turns += 1;
    assert.equal(1, 2, 'the chain forks');
  };
  await using _ = startLoop(options(clock, turn, { onBroken: (error) => (broken = error.message) }));
  await clock.advance(10_000);
  assert.equal(turns, 1);
  assert.match(broken, /the chain forks/);
});
