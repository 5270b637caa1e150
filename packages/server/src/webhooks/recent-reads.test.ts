import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RecentReads } from './recent-reads.ts';

function reads() {
  let nowNs = 0;
  const asked: string[] = [];
  const recent = new RecentReads<string>({ monotonicNs: () => nowNs });
  const get = (key: string) => recent.get(key, () => (asked.push(key), Promise.resolve(key)));
  return { recent, asked, get, pass: (ms: number) => (nowNs += ms * 1e6) };
}

test('what is asked for again at once is read once, and later anew', async () => {
  const { asked, get, pass } = reads();
  assert.deepEqual(await Promise.all([get('a'), get('a'), get('b')]), ['a', 'a', 'b']);
  assert.deepEqual(asked, ['a', 'b']);
  pass(51);
  await get('a');
  assert.deepEqual(asked, ['a', 'b', 'a']);
});

test('what nobody would be given any more is not kept: an event may be large', async () => {
  const { recent, get, pass } = reads();
  for (let i = 0; i < 500; i++) await get(`old ${i}`);
  pass(30);
  await get('newer');
  await get('old 0');
  pass(25);
  await get('newest');
  assert.equal(recent.size, 2);
});

test('a read that fails is forgotten', async () => {
  const { recent, get } = reads();
  await assert.rejects(
    recent.get('a', () => Promise.reject(new Error('no'))),
    /no/,
  );
  assert.equal(await get('a'), 'a');
});
