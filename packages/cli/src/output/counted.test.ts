import assert from 'node:assert/strict';
import { test } from 'node:test';
import { counted } from './counted.ts';

test('one is one, and none are many', () => {
  assert.deepEqual(
    [0, 1, 2].map((count) => counted(count, 'stream')),
    ['0 streams', '1 stream', '2 streams'],
  );
  assert.deepEqual(
    [0, 1, 2].map((count) => counted(count, 'entry', 'entries')),
    ['0 entries', '1 entry', '2 entries'],
  );
});
