import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rememberLast } from './remember-last.ts';

test('the same moment is worked out once in a row, and another one anew', () => {
  const made: string[] = [];
  const textOf = rememberLast((atMs, of) => {
    made.push(`${atMs}${of}`);
    return `<${atMs}${of}>`;
  });
  assert.deepEqual([textOf(1), textOf(1), textOf(2), textOf(1)], ['<1>', '<1>', '<2>', '<1>']);
  assert.deepEqual([textOf(1, 'a'), textOf(1, 'b'), textOf(1, 'b')], ['<1a>', '<1b>', '<1b>']);
  assert.deepEqual(made, ['1', '2', '1', '1a', '1b']);
});
