// What health knows of followers, by their own turns: real followers under a clock that only the test moves.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSystemRandom } from '../runtime/random.ts';
import { createFakeClock } from '../testing/fake-clock.ts';
import { createFollower } from './follower.ts';
import type { FollowerTurn, LogLeft } from './follower-work.ts';
import { watchFollower } from './follower-watch.ts';

const LAG_MS_MAX = 60_000;

/** A follower whose turns end as the test says, and the diagnostics about it. */
function watching() {
  const clock = createFakeClock(0);
  const lines: string[] = [];
  const note = (message: string) => void lines.push(message);
  const telemetry = { error: note, warn: note, info: note };
  const work: { turn: () => Promise<FollowerTurn> } = { turn: async () => turnOf() };
  const follower = createFollower({
    name: 'the notifier',
    work: { turn: () => work.turn() },
    clock,
    random: createSystemRandom(),
    telemetry,
  });
  const watch = watchFollower({ follower, subject: 'Deliveries', lagMsMax: LAG_MS_MAX, telemetry });
  const told = async () => {
    await watch.measure();
    return watch.findings().map(({ status, description }) => `${status}: ${description}`);
  };
  return { clock, lines, work, follower, told };
}

function turnOf(...logs: readonly LogLeft[]): FollowerTurn {
  return { isMore: false, taken: 0, logs, isAll: true, setAside: [] };
}

const log = (nextIndex: number, endIndex: number, tenant = 'acme'): LogLeft => ({
  tenant,
  nextIndex,
  endIndex,
});

test('one that has taken all is not behind, however long nothing comes', async () => {
  const { clock, lines, follower, told } = watching();
  await using _ = follower;
  follower.start();
  await clock.advance(600_000);
  const { lagMs, pendingEvents, worst } = follower.progress();
  assert.deepEqual([lagMs, pendingEvents, worst], [0, 0, undefined]);
  assert.deepEqual(await told(), []);
  assert.deepEqual(lines, []);
});

test('one that leaves out a log stands still, whatever it takes of others, and the log is named in the diagnostics alone', async () => {
  const { clock, lines, work, follower, told } = watching();
  await using _ = follower;
  let end = 0;
  work.turn = async () => turnOf(log(3, 10 + (end += 1)), log(end, end + 1, 'globex'));
  follower.start();
  await clock.advance(50_000);
  assert.deepEqual(await told(), []);
  await clock.advance(20_000);
  const [text, ...others] = await told();
  assert.match(text!, /^Degraded: Deliveries have stood still for more than 60 s while the log grows: /);
  assert.doesNotMatch(text!, /acme|globex/);
  assert.deepEqual(others, []);
  const { lagMs, stillMs, worst } = follower.progress();
  assert.ok(lagMs > 60_000 && stillMs > 60_000, `${lagMs} ${stillMs}`);
  assert.equal(worst, 'acme');
  work.turn = async () => turnOf(log(12, 12));
  await clock.advance(10_000);
  assert.deepEqual(await told(), []);
  assert.deepEqual(lines, [
    'the notifier stands still while the log grows',
    'the notifier has caught up with the log',
  ]);
});

test('one that moves more slowly than the log grows is behind, and has caught up once it is well below the limit', async () => {
  const { clock, work, follower, told } = watching();
  await using _ = follower;
  let [next, end] = [0, 100];
  work.turn = async () => turnOf(log((next += 1), (end += 2)));
  follower.start();
  await clock.advance(100_000);
  assert.match((await told())[0]!, /^Degraded: Deliveries are more than 60 s behind the log, and catch up/);
  // It has taken what it was behind with at first, and is behind with what came later.
  [next, end] = [end, end + 1000];
  await clock.advance(40_000);
  assert.ok(follower.progress().lagMs > LAG_MS_MAX / 2);
  assert.equal((await told()).length, 1, 'it does not flap');
  work.turn = async () => turnOf();
  await clock.advance(5000);
  assert.deepEqual(await told(), []);
});

test('one whose turn does not end stands still', async () => {
  const { clock, work, follower, told } = watching();
  let end: ((turn: FollowerTurn) => void) | undefined;
  work.turn = () => new Promise((resolve) => (end = resolve));
  follower.start();
  await clock.advance(70_000);
  assert.match((await told())[0]!, /stood still/);
  assert.ok(follower.progress().lagMs > 60_000);
  work.turn = async () => turnOf();
  end!(turnOf());
  await clock.advance(5000);
  assert.deepEqual(await told(), []);
  await follower[Symbol.asyncDispose]();
});

test('one whose turns fail is behind since the first of them, and no longer once one succeeds', async () => {
  const { clock, work, follower, told } = watching();
  await using _ = follower;
  follower.start();
  await clock.advance(2000);
  work.turn = () => Promise.reject(new Error('the index cannot be written'));
  for (let i = 0; i < 80; i++) await clock.advance(1000);
  const { lagMs } = follower.progress();
  assert.ok(lagMs > 60_000 && lagMs <= 80_000, String(lagMs));
  assert.match((await told())[0]!, /stood still/);
  work.turn = async () => turnOf();
  for (let i = 0; i < 40; i++) await clock.advance(1000);
  assert.equal(follower.progress().lagMs, 0);
  assert.deepEqual(await told(), []);
});

test('of more logs than a turn takes, those that are not seen any more are forgotten after a while', async () => {
  const { clock, work, follower } = watching();
  await using _ = follower;
  work.turn = async () => ({ ...turnOf(log(0, 9, 'gone')), isAll: false });
  follower.start();
  await clock.advance(2000);
  work.turn = async () => ({ ...turnOf(log(5, 5)), isAll: false });
  await clock.advance(60_000);
  assert.equal(follower.progress().worst, 'gone');
  await clock.advance(120_000);
  assert.equal(follower.progress().worst, undefined);
});
