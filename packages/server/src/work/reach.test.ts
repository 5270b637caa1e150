import assert from 'node:assert/strict';
import { test } from 'node:test';
import { attemptsHere, Reach } from './reach.ts';

test('attempts count since the job last came further', () => {
  let progress: string | undefined;
  const killedAt = (attempts: number, place: number) => {
    const job = { attempts, progress };
    const counted = attemptsHere(job);
    progress = JSON.stringify(new Reach(job, 10).at(place));
    return counted;
  };
  const further = [10, 20, 30, 45].map((place, i) => killedAt(i + 1, place));
  assert.deepEqual(further, [1, 2, 2, 2]);
  const stuck = [45, 40, 54, 10].map((place, i) => killedAt(i + 5, place));
  assert.deepEqual(stuck, [2, 3, 4, 5], 'it comes to the same place each time');
  assert.equal(killedAt(9, 55), 6);
  assert.equal(killedAt(10, 55), 2);
  assert.equal(attemptsHere({ attempts: 1, progress }), 1, 'a letter that is tried again');
});
