import assert from 'node:assert/strict';
import { test } from 'node:test';
import { shownLength } from './length-of-time.ts';

test('a length of time is shown in two units, and never as less than it is', () => {
  assert.deepEqual([0, 0.2, 59.5, 60, 200, 3600, 3599.5, 3900, 86_399, 86_400, 183_600].map(shownLength), [
    '0 s',
    '1 s',
    '1 min 0 s',
    '1 min 0 s',
    '3 min 20 s',
    '1 h 0 min',
    '1 h 0 min',
    '1 h 5 min',
    '1 d 0 h',
    '1 d 0 h',
    '2 d 3 h',
  ]);
});
