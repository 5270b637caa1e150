// What is kept, and what goes first.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RecentlyUsed } from './recently-used.ts';

const namesIn = (kept: RecentlyUsed<string, string>, names: string) =>
  [...names].filter((name) => kept.get(name) !== undefined).join('');

test('of too many the longest unused goes', () => {
  const kept = new RecentlyUsed<string, string>(3);
  for (const name of 'abc') kept.keep(name, name);
  assert.equal(kept.get('a'), 'a');
  kept.keep('d', 'd');
  assert.equal(namesIn(kept, 'abcd'), 'acd');
});

test('what is kept again counts once, with its new size', () => {
  const kept = new RecentlyUsed<string, string>(10);
  for (let i = 0; i < 20; i++) kept.keep('a', `${i}`, 4);
  kept.keep('b', 'b', 6);
  assert.deepEqual([kept.get('a'), kept.get('b')], ['19', 'b']);
  kept.keep('a', 'larger', 5);
  assert.equal(namesIn(kept, 'ab'), 'a');
});

test('one that is larger than all may be is kept alone', () => {
  const kept = new RecentlyUsed<string, string>(3);
  kept.keep('a', 'a');
  kept.keep('b', 'b', 100);
  assert.equal(namesIn(kept, 'ab'), 'b');
  kept.keep('c', 'c');
  assert.equal(namesIn(kept, 'abc'), 'c');
});
