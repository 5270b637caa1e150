// Tails as they are kept between searches: how they are cut, and what of them is read again.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LoggedEvent } from './segment-store.ts';
import { Tails } from './tails.ts';

/** A log of events that are removed: what is in them does not matter here. It notes what was read. */
function logWith(read: [from: number, end: number][]) {
  const eventAt = (index: number): LoggedEvent => ({
    index,
    leaf: Buffer.from(String(index)),
    event: undefined,
    bytes: 10,
  });
  return {
    between(_tenant: string, from: number, end: number): LoggedEvent[] {
      read.push([from, end]);
      return Array.from({ length: end - from }, (_, i) => eventAt(from + i));
    },
  };
}

test('a long tail is cut where segments end, and only its end into small pieces; what a segment has is dropped', async () => {
  const read: [number, number][] = [];
  const tails = new Tails(logWith(read));
  const piecesOf = async (from: number, end: number) => {
    const { pieces, bytes } = await tails.between('acme', from, end, 0);
    return { docs: pieces.map(({ docs }) => docs), first: pieces[0]?.firstIndex, bytes };
  };
  assert.deepEqual(await piecesOf(100, 4706), { docs: [2048, 2048, 256, 254], first: 100, bytes: 46_060 });
  const grown = await piecesOf(100, 4800);
  assert.deepEqual(grown.docs, [2048, 2048, 256, 256, 92]);
  assert.deepEqual(await piecesOf(2148, 4800), { docs: [2048, 256, 256, 92], first: 2148, bytes: 26_520 });
  // The last event is read again, to see that the log is still the same.
  assert.deepEqual(read, [
    [100, 4706],
    [4705, 4800],
  ]);
});

test('a tail that grows between searches is never read again when segments are made of it', async () => {
  const read: [number, number][] = [];
  const tails = new Tails(logWith(read));
  const seen = [];
  for (const [from, end] of [
    [0, 1000],
    [0, 4000],
    [2048, 9000],
    [8192, 9100],
  ] as const)
    seen.push((await tails.between('acme', from, end, 0)).pieces.map(({ docs }) => docs));
  assert.deepEqual(
    seen.map((docs) => docs.length),
    [4, 16, 8 + 2 + 4, 4],
  );
  assert.deepEqual(read, [
    [0, 1000],
    [999, 4000],
    [3999, 9000],
    [8999, 9100],
  ]);
});
