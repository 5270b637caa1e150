import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { utf8 } from '../bytes.ts';
import { processorMs } from '../testing/processor-time.ts';
import { countValues, type UncountedMembers } from './count-values.ts';
import { runs } from '../testing/size.ts';

const ALL: UncountedMembers = { names: [], listName: undefined };
const EVENT: UncountedMembers = { names: ['context', 'payload'], listName: undefined };
const BATCH: UncountedMembers = { names: ['context', 'payload'], listName: 'events' };

const count = (text: string, members = ALL) => countValues(utf8(text), members);

/** The definition. */
function valuesOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1;
  return Object.values(value).reduce((sum: number, inner: unknown) => sum + valuesOf(inner), 1);
}

test('every value counts, and each container is one', () => {
  const table: [string, number][] = [
    ['1', 1],
    ['[]', 1],
    [' [ ] ', 1],
    ['{ "a" : [1, 2, [ ], {"b,[{": "\\",\\\\"} ] }', 7],
    ['[[[[]]]]', 4],
    ['"[1,2,3]"', 1],
  ];
  for (const [text, values] of table) assert.equal(count(text).values, values, text);
});

test('any JSON text has as many values as it means, however it is spaced', () => {
  fc.assert(
    fc.property(fc.json(), fc.nat(2), (text, spaces) => {
      const value: unknown = JSON.parse(text);
      assert.equal(count(JSON.stringify(value, undefined, spaces)).values, valuesOf(value));
    }),
    { numRuns: runs(2000), seed: 20261117 },
  );
});

test('what stands in the named members of the object does not count, and in others of that name it does', () => {
  assert.equal(count('{"payload":{"a":[1,2,3]},"context":[1,2],"x":[1]}', EVENT).values, 5);
  assert.equal(count('{"a":{"payload":[1,2,3]}}', EVENT).values, 6);
  assert.equal(count('["payload",[1,2]]', EVENT).values, 5);
  assert.equal(count('{"payload":1,"b":[1,2]}', EVENT).values, 5);
});

test('items of the named list are counted, and the members of its objects are left out', () => {
  const batch = '{"x":{"events":[1,2]},"events":[{"payload":[1,2,3],"a":1},{"context":{"events":[1,2]}},5]}';
  const { values, items } = count(batch, BATCH);
  assert.equal(items, 3);
  assert.equal(values, 1 + 4 + 1 + (1 + 2) + (1 + 1) + 1);
  assert.equal(count('{"events":{"a":1,"b":2}}', BATCH).items, 0);
  assert.equal(count('{"events":[]}', BATCH).items, 0);
  assert.equal(count('{"payload":[1,2]}', BATCH).values, 4, 'only in the list');
});

test('what is not JSON gets some number', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      assert.ok(Number.isInteger(countValues(bytes, BATCH).values));
    }),
    { numRuns: runs(2000), seed: 20261117 },
  );
  for (const text of ['"', '{"a', '"\\', ']]]]', ',,,', '{"events":[', ''])
    assert.ok(count(text, BATCH).values >= 1);
});

test('ten megabytes are counted in a moment', () => {
  const bytes = utf8(`{"events":[${'[],'.repeat(3_400_000)}[]]}`);
  const ms = processorMs(() => assert.equal(countValues(bytes, BATCH).items, 3_400_001));
  assert.ok(ms < 1000, `${ms} ms`);
});
