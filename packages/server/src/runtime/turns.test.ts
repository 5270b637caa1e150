import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { FairQueue, KeyedQueue } from './turns.ts';

test('work of one name is done in order, work of another beside it, and a failure stops nothing', async () => {
  const turns = new KeyedQueue();
  const done: string[] = [];
  const work = (text: string, rounds: number) => async () => {
    for (let round = 0; round < rounds; round++) await setImmediate();
    done.push(text);
    if (text === 'fails') throw new Error('as meant');
  };
  const all = [
    turns.take('a', work('a slow', 9)),
    turns.take('a', work('fails', 1)),
    turns.take('a', work('a quick', 0)),
    turns.take('b', work('b', 0)),
  ];
  const settled = await Promise.allSettled(all);
  assert.deepEqual(done, ['b', 'a slow', 'fails', 'a quick']);
  assert.deepEqual(
    settled.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled', 'fulfilled'],
  );
});

test('who shares a thing takes turns: a hundred of one do not go before one of another', async () => {
  const turns = new FairQueue();
  const done: string[] = [];
  let atOnce = 0;
  const ask = (who: string, isSound = true) =>
    turns.take(who, async () => {
      assert.equal(++atOnce, 1, 'one at a time');
      await setImmediate();
      atOnce--;
      done.push(who);
      if (!isSound) throw new Error('as meant');
    });
  const loud = Array.from({ length: 100 }, (_, index) => ask('loud', index !== 1).catch(() => {}));
  const others = ['x', 'y', 'x'].map((who) => ask(who));
  await Promise.all([...loud, ...others]);
  assert.deepEqual(done.slice(0, 7), ['loud', 'loud', 'x', 'y', 'loud', 'x', 'loud']);
  assert.equal(done.length, 103);
  await ask('later');
  assert.equal(done.at(-1), 'later');
});
