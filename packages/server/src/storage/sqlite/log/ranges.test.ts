import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checksBy } from './ranges.ts';

test('a range whose caller gives up is forgotten by the thread', async () => {
  const ended: number[] = [];
  const checkRange = checksBy(async () => ({
    begin: async () => 7,
    step: async () => ({ checkedEvents: 100 }),
    end: async (number: number) => void ended.push(number),
  }));
  const request = { streamId: 'stream', keys: [] } as never;
  const giveUp = () => {
    throw new Error('the lease is lost');
  };
  await assert.rejects(checkRange('acme', request, giveUp), /the lease is lost/);
  assert.deepEqual(ended, [7]);
});
