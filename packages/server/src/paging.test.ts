import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { AuditError, type Page } from '@tallystick/contract';
import { createCursors } from './gateway/cursors.ts';
import { type Cursors, isIndex, type PagedInput, readPage } from './paging.ts';
import { createFakeClock } from './testing/fake-clock.ts';
import { TENANT, testCall } from './testing/test-call.ts';

const cursors: Cursors = createCursors({
  keyOf: ({ fingerprintKey }) => fingerprintKey,
  clock: createFakeClock(),
});
const call = testCall({ operation: 'streams.list' });

type Order = 'Ascending' | 'Descending';

/** A list of numbers, as an operation would page through it. */
function pageOf(keys: readonly number[], order: Order, input: PagedInput): Page<number> {
  const read = readPage(cursors, call, input, isIndex);
  const isUp = (order === 'Ascending') === (read.direction === 'Next');
  const rows = keys
    .toSorted((a, b) => (isUp ? a - b : b - a))
    .filter((key) => read.beyond === undefined || (isUp ? key > read.beyond : key < read.beyond))
    .slice(0, read.rowsMax);
  return read.page(rows, (row) => row, keys.length);
}

const inOrder = (keys: readonly number[], order: Order) =>
  keys.toSorted((a, b) => (order === 'Ascending' ? a - b : b - a));

/** All pages from this one on, to the end that the cursor of this name leads to. */
function walk(
  keys: readonly number[],
  order: Order,
  limit: number,
  from: Page<number>,
  by: 'cursor' | 'previousCursor',
): Page<number>[] {
  const pages: Page<number>[] = [];
  let cursor = from.pagination[by];
  while (cursor !== null) {
    const page = pageOf(keys, order, { limit, cursor });
    pages.push(page);
    cursor = page.pagination[by];
  }
  return pages;
}

const orders = fc.constantFrom<Order>('Ascending', 'Descending');
const lists = fc.uniqueArray(fc.maxSafeNat(), { maxLength: 30 });
const limits = fc.integer({ min: 1, max: 9 });

test('walking forward shows every row once, and walking back the same pages', () => {
  fc.assert(
    fc.property(lists, orders, limits, (keys, order, limit) => {
      const first = pageOf(keys, order, { limit });
      const forward = [first, ...walk(keys, order, limit, first, 'cursor')];
      assert.deepEqual(
        forward.flatMap((page) => page.data),
        inOrder(keys, order),
      );
      const last = forward.at(-1)!;
      const back = [last, ...walk(keys, order, limit, last, 'previousCursor')].toReversed();
      assert.deepEqual(
        back.map((page) => page.data),
        forward.map((page) => page.data),
      );
      assert.deepEqual(
        back.map((page) => page.pagination.hasMore),
        forward.map((page) => page.pagination.hasMore),
      );
    }),
  );
});

test('the first page has none before it and the last none after it, from both directions', () => {
  fc.assert(
    fc.property(lists, orders, limits, (keys, order, limit) => {
      const first = pageOf(keys, order, { limit });
      const last = walk(keys, order, limit, first, 'cursor').at(-1) ?? first;
      const firstAgain = walk(keys, order, limit, last, 'previousCursor').at(-1) ?? last;
      for (const { pagination } of [first, firstAgain]) assert.equal(pagination.previousCursor, null);
      assert.equal(last.pagination.cursor, null);
      assert.equal(last.pagination.hasMore, false);
      assert.equal(first.pagination.hasMore, keys.length > limit);
    }),
  );
});

test('rows that arrive meanwhile, at either end, are never shown twice and hide none', () => {
  fc.assert(
    fc.property(lists, lists, orders, limits, (keys, more, order, limit) => {
      const all = [...new Set([...keys, ...more])];
      const first = pageOf(keys, order, { limit });
      const shown = [first, ...walk(all, order, limit, first, 'cursor')].flatMap((page) => page.data);
      assert.equal(new Set(shown).size, shown.length);
      const reachable = keys.length <= limit ? first.data : keys;
      for (const key of reachable) assert.ok(shown.includes(key), `${key} was there at the start`);
    }),
  );
});

test('another limit goes on at the same place', () => {
  const keys = [0, 1, 2, 3, 4, 5, 6];
  const { cursor } = pageOf(keys, 'Ascending', { limit: 2 }).pagination;
  const page = pageOf(keys, 'Ascending', { limit: 4, cursor: cursor! });
  assert.deepEqual(page.data, [2, 3, 4, 5]);
  const back = pageOf(keys, 'Ascending', { limit: 4, cursor: page.pagination.previousCursor! });
  assert.deepEqual(back.data, [0, 1]);
  assert.equal(back.pagination.previousCursor, null);
  assert.equal(back.pagination.limit, 4);
});

test('a page whose rows are gone leads back to what is left', () => {
  const start = pageOf([1, 2, 3, 4], 'Ascending', { limit: 2 });
  const empty = pageOf([1], 'Ascending', { limit: 2, cursor: start.pagination.cursor! });
  assert.deepEqual([empty.data, empty.pagination.cursor], [[], null]);
  const left = pageOf([1], 'Ascending', { limit: 2, cursor: empty.pagination.previousCursor! });
  assert.deepEqual([left.data, left.pagination.cursor, left.pagination.previousCursor], [[1], null, null]);

  const second = pageOf([1, 2, 3, 4], 'Ascending', { limit: 2, cursor: start.pagination.cursor! });
  const none = pageOf([3, 4], 'Ascending', { limit: 2, cursor: second.pagination.previousCursor! });
  assert.deepEqual([none.data, none.pagination.hasMore], [[], true]);
  const rest = pageOf([3, 4], 'Ascending', { limit: 2, cursor: none.pagination.cursor! });
  assert.deepEqual([rest.data, rest.pagination.previousCursor], [[3, 4], null]);
});

test('an empty page leads nowhere in its own direction, also where more should have been there', () => {
  for (const direction of ['Next', 'Previous'] as const) {
    const cursor = cursors.make(
      { tenant: TENANT, operation: call.operation, asked: {} },
      { direction, at: 7 },
    );
    const read = readPage(cursors, call, { cursor }, isIndex);
    const { pagination } = read.page([], (row: number) => row, 9, true);
    assert.equal(direction === 'Next' ? pagination.cursor : pagination.previousCursor, null);
  }
  const { cursor, hasMore } = readPage(cursors, call, {}, isIndex).page([], () => 0, 9, true).pagination;
  assert.deepEqual([cursor, hasMore], [null, false]);
});

test('without a limit a page has a hundred rows', () => {
  const read = readPage(cursors, call, {}, isIndex);
  assert.deepEqual([read.direction, read.beyond, read.rowsMax], ['Next', undefined, 101]);
  assert.equal(read.page([], (row: number) => row, 0).pagination.limit, 100);
});

test('a total is exact up to 10,000, and past it at least that', () => {
  const read = readPage(cursors, call, {}, isIndex);
  const totalOf = (count: number) => read.page([], (row: number) => row, count).pagination;
  assert.equal(totalOf(0).totalRelation, 'Exact');
  assert.equal(totalOf(10_000).totalRelation, 'Exact');
  assert.deepEqual([totalOf(10_001).total, totalOf(10_001).totalRelation], [10_001, 'AtLeast']);
});

test('a cursor is good for its own request, with any limit, and for nothing else', () => {
  const asked = { status: ['Open'], limit: 2 };
  const { cursor } = readPage(cursors, call, asked, isIndex).page([1, 2, 3], (row) => row, 3).pagination;
  const goOn = (input: PagedInput & { status?: string[] }, from = call) =>
    readPage(cursors, from, { ...input, cursor: cursor! }, isIndex).beyond;
  assert.equal(goOn({ status: ['Open'] }), 2);
  assert.equal(goOn({ status: ['Open'], limit: 7 }), 2);
  const mismatch = (error: unknown) => error instanceof AuditError && error.code === 'CURSOR_MISMATCH';
  assert.throws(() => goOn({ status: ['Sealed'] }), mismatch);
  assert.throws(() => goOn({}), mismatch);
  assert.throws(() => goOn({ status: ['Open'] }, testCall({ operation: 'streams.listEvents' })), mismatch);
});

test('a position that is no key of this list is an invalid cursor', () => {
  const scope = { tenant: TENANT, operation: call.operation, asked: {} };
  for (const at of ['7', -1, 1.5, {}, [1]]) {
    const cursor = cursors.make(scope, { direction: 'Next', at });
    assert.throws(() => readPage(cursors, call, { cursor }, isIndex), { code: 'CURSOR_INVALID' });
  }
});

test('a tenant that has not written yet gets an empty page', () => {
  const unknown = testCall({ operation: 'streams.list', tenantRecord: undefined });
  const { data, pagination } = readPage(cursors, unknown, {}, isIndex).page([], (row: number) => row, 0);
  assert.deepEqual(
    { data, ...pagination },
    {
      data: [],
      total: 0,
      totalRelation: 'Exact',
      limit: 100,
      cursor: null,
      previousCursor: null,
      hasMore: false,
    },
  );
});
