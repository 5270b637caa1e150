import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rememberLast } from './remember-last.ts';

test('the same moment is worked out once in a row, and another one anew', () => {
  const made: string[] = [];
  const textOf = rememberLast((atMs) => {
    made.push(`${atMs}`);
    return `<${atMs}>`;
  });
  assert.deepEqual([textOf(1), textOf(1), textOf(2), textOf(1)], ['<1>', '<1>', '<2>', '<1>']);
  assert.deepEqual(made, ['1', '2', '1']);
});
