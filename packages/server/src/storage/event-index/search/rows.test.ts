// How much of an order is read for a page, counted in rows and in comparisons.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { OrderStep, SortKey } from '../../../events/event-index.ts';
import { DocSet } from '../segments/doc-set.ts';
import { COLUMN_DOCS } from '../segments/segment-format.ts';
import type { Searched } from '../segments/searched.ts';
import { mergedRows } from './merged-rows.ts';
import { type Row, RowOrder } from './rows.ts';

const DOCS = 64_000;
const AT_MS = Date.UTC(2026, 0, 1);
const PAGE = 1000;

/** Of equal times, and of two actions; notes which blocks of an order are asked for. */
function equalTimes(asked: number[] = []): Searched {
  const inBlock = (block: number) => Math.min(COLUMN_DOCS, DOCS - block * COLUMN_DOCS);
  const piece: Partial<Searched> = {
    firstIndex: 500,
    docs: DOCS,
    minMs: AT_MS,
    maxMs: AT_MS,
    numbers: (column, block) => new Float64Array(inBlock(block)).fill(column === 'atMs' ? AT_MS : 0),
    valuePlaces: (_column, block) => Uint8Array.from({ length: inBlock(block) }, (_, doc) => doc % 2),
    values: () => ['Create', 'Delete'].map((text) => ({ text, label: undefined, openLabel: undefined })),
    order(_name, block) {
      asked.push(block);
      return Uint32Array.from({ length: inBlock(block) }, (_, at) => block * COLUMN_DOCS + at);
    },
  };
  return piece as Searched;
}

class CountingOrder extends RowOrder {
  rows = 0;
  comparisons = 0;

  override compare(a: Row, b: Row): number {
    this.comparisons++;
    return super.compare(a, b);
  }

  override beyond(rows: readonly Row[], place: SortKey | undefined): readonly Row[] {
    this.rows += rows.length;
    return super.beyond(rows, place);
  }
}

async function page(piece: Searched, order: RowOrder, beyond: SortKey | undefined): Promise<number[]> {
  const found: number[] = [];
  const docs = DocSet.all(DOCS);
  for await (const { doc } of mergedRows([{ piece, docs: async () => docs }], order, beyond))
    if (found.push(piece.firstIndex + doc) === PAGE) break;
  return found;
}

const placeOf = (index: number): SortKey => ({
  atMs: AT_MS,
  atNs: 0,
  action: index % 2 === 0 ? 'Create' : 'Delete',
  eventId: '0'.repeat(26),
  index,
});

for (const isDescending of [true, false]) {
  test(`pages of equal times read each row once, ${isDescending ? 'newest' : 'oldest'} first`, async () => {
    const order = new CountingOrder([{ field: 'timestamp', isDescending }], 'Next');
    const all: number[] = [];
    for (let beyond: SortKey | undefined; ; beyond = placeOf(all.at(-1)!)) {
      const found = await page(equalTimes(), order, beyond);
      if (found.length === 0) break;
      all.push(...found);
    }
    const expected = Array.from({ length: DOCS }, (_, doc) => 500 + doc);
    assert.deepEqual(all, isDescending ? expected.toReversed() : expected);
    // What a page reads beyond its end is read again for the next.
    assert.ok(order.rows < 2 * DOCS, `${order.rows} rows were read`);
    assert.ok(order.comparisons < 4 * DOCS, `${order.comparisons} comparisons`);
  });
}

test('one action after the other, pages of equal times read no more', async () => {
  const steps: readonly OrderStep[] = [
    { field: 'action', isDescending: false },
    { field: 'timestamp', isDescending: true },
  ];
  const order = new CountingOrder(steps, 'Next');
  const last = 500 + 30_000;
  assert.deepEqual((await page(equalTimes(), order, placeOf(last))).slice(0, 2), [last - 2, last - 4]);
  assert.ok(order.rows < 3 * PAGE, `${order.rows} rows were read`);
});

test('where something else decides among equal times, all of them are sorted, but not again and again', async () => {
  const steps: readonly OrderStep[] = [
    { field: 'timestamp', isDescending: true },
    { field: 'action', isDescending: true },
  ];
  const order = new CountingOrder(steps, 'Next');
  assert.deepEqual((await page(equalTimes(), order, undefined)).slice(0, 2), [
    500 + DOCS - 1,
    500 + DOCS - 3,
  ]);
  // Control: they are counted where they must be read.
  assert.ok(order.rows >= DOCS && order.rows < 4 * DOCS, `${order.rows} rows were read`);
  assert.ok(order.comparisons < 4 * DOCS * Math.log2(DOCS), `${order.comparisons} comparisons`);
});

test('a block of an order is asked for once in a page', async () => {
  const asked: number[] = [];
  const order = new RowOrder([{ field: 'timestamp', isDescending: true }], 'Next');
  await page(equalTimes(asked), order, placeOf(500 + 20_000));
  assert.equal(asked.length, new Set(asked).size, asked.join());
});
