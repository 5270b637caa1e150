import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KINDS, type Notice } from '@tallystick/evidence';
import { Undeleted } from './undeleted.ts';

const purge = (index: number, ranges: [number, number][]) =>
  ({ kind: KINDS.purge, index, payload: { ranges, count: 1 } }) as unknown as Notice;
const redaction = (index: number, leafIndex: number, tags: string[]) =>
  ({ kind: KINDS.redaction, index, payload: { leafIndex, tags } }) as unknown as Notice;

test('content is counted where a later notice says that it was deleted, once for each event', () => {
  const undeleted = new Undeleted();
  for (const [index, deleted] of [true, undefined, ['a'], ['a', 'b'], undefined].entries())
    undeleted.event(index, deleted as true | readonly string[] | undefined);
  // 5 and 6 are the notices; another event follows, which neither can mean.
  undeleted.notice(redaction(5, 2, ['a']));
  undeleted.notice(redaction(6, 3, ['a', 'b']));
  undeleted.event(7, undefined);
  undeleted.notice(purge(8, [[0, 1]]));
  assert.deepEqual([undeleted.count, undeleted.first], [0, undefined], 'all of that is gone');
  undeleted.notice(redaction(9, 2, ['b']));
  assert.deepEqual([undeleted.count, undeleted.first], [1, 2], 'a unit that is there');
  undeleted.notice(redaction(10, 4, ['a']));
  assert.deepEqual([undeleted.count, undeleted.first], [2, 2], 'an event that is whole');
  undeleted.notice(purge(11, [[0, 2]]));
  assert.deepEqual([undeleted.count, undeleted.first], [3, 1]);
  undeleted.notice(purge(12, [[1, 5]]));
  assert.deepEqual([undeleted.count, undeleted.first], [4, 1]);
  // The notices between are no content.
  undeleted.notice(purge(13, [[5, 8]]));
  assert.deepEqual([undeleted.count, undeleted.first], [5, 1]);
});

test('of an event that was purged after a redaction nothing is left to be counted', () => {
  const undeleted = new Undeleted();
  undeleted.event(0, true);
  undeleted.notice(redaction(1, 0, ['a']));
  undeleted.notice(purge(2, [[0, 1]]));
  assert.equal(undeleted.count, 0);
});
