import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mergePatch } from './merge-patch.ts';

/** The examples of RFC 7396, appendix A. */
const EXAMPLES: readonly (readonly [target: unknown, patch: unknown, result: unknown])[] = [
  [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
  [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
  [{ a: 'b' }, { a: null }, {}],
  [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
  [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
  [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
  [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
  [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
  [
    ['a', 'b'],
    ['c', 'd'],
    ['c', 'd'],
  ],
  [{ a: 'b' }, ['c'], ['c']],
  [{ a: 'foo' }, null, null],
  [{ a: 'foo' }, 'bar', 'bar'],
  [{ e: null }, { a: 1 }, { e: null, a: 1 }],
  [[1, 2], { a: 'b', c: null }, { a: 'b' }],
  [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
];

test('a patch does what the standard shows', () => {
  for (const [target, patch, result] of EXAMPLES)
    assert.deepEqual(mergePatch(target, patch), result, JSON.stringify({ target, patch }));
});

test('a member called __proto__ is one like others', () => {
  const patch: unknown = JSON.parse('{"__proto__":{"polluted":true}}');
  const merged = mergePatch({ a: 1 }, patch) as object;
  assert.deepEqual(Object.keys(merged), ['a', '__proto__']);
  assert.equal((merged as { polluted?: boolean }).polluted, undefined);
});
