// Any value in a row is at most a fault of that row.

import { SEALED_COLUMNS } from '../sealing/sealed-rows.ts';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encodeEntry, encodeEvent, leafHash, openTexts, contentOf, groupRootOf } from '@tallystick/evidence';
import * as fc from 'fast-check';
import { SEED_BYTES, SEEDS_BYTES, saltsOf } from '../pool/commitments.ts';
import { nextId } from '../conformance/claims.ts';
import { CHECKED_COLUMNS, StoredContents } from './stored-content.ts';

type Row = Readonly<Record<string, unknown>>;

const contents = new StoredContents();
const decoder = new TextDecoder();

function rowOf(index: number): Row {
  const event = { action: 'Delete.Invoice', classification: 'Internal', payload: { index, text: 'ä' } };
  const [one, two] = encodeEvent(event);
  const seeds = new Uint8Array(SEEDS_BYTES).fill(7 + index);
  const shown = openTexts(
    [decoder.decode(one.bytes), decoder.decode(two.bytes)],
    [
      saltsOf(seeds.subarray(0, SEED_BYTES), one.units.length),
      saltsOf(seeds.subarray(SEED_BYTES), two.units.length),
    ],
  );
  const place = { kind: 1, index, receivedAtMs: 1, eventId: nextId() } as const;
  const entry = encodeEntry({ ...place, previous: new Uint8Array(32), content: contentOf(shown) });
  return {
    leaf_index: BigInt(index),
    classification: 1n,
    entry,
    leaf: leafHash(entry),
    root1: groupRootOf(1, shown[0]),
    root2: groupRootOf(2, shown[1]),
    content_id: 1n,
    text1: one.bytes,
    text2: two.bytes,
    seeds,
    closed: null,
    expires_at_ms: 5n,
  };
}

const ROWS = [rowOf(0), rowOf(1), rowOf(2)] as const;
const GONE = { content_id: null, text1: null, text2: null, seeds: null, closed: null, expires_at_ms: null };
const HASHED = ['entry', 'leaf', 'root1', 'root2', 'text1', 'text2', 'seeds'] as const;

test('rows are sound as they were written, also once the content is removed', () => {
  assert.deepEqual(contents.faultsOf([ROWS[0], { ...ROWS[1], ...GONE }, ROWS[2]]), [
    undefined,
    undefined,
    undefined,
  ]);
  assert.deepEqual(
    CHECKED_COLUMNS.replace(SEALED_COLUMNS.SQLite, '')
      .split(',')
      .map((column) => column.trim().split(' ').at(-1)!)
      .filter((column) => column !== ''),
    Object.keys(ROWS[0]),
  );
});

test('of removed content the roots must be those that were hashed', () => {
  for (const root of [new Uint8Array(32), new Uint8Array(3), new Uint8Array(1000), null]) {
    for (const column of ['root1', 'root2']) {
      const [fault] = contents.faultsOf([{ ...ROWS[0], ...GONE, [column]: root }]);
      assert.match(String(fault), /root/, column);
    }
  }
});

const anyValue = fc.oneof(
  fc.constant(null),
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  fc.double(),
  fc.string(),
  fc.uint8Array({ maxLength: 200 }),
);

test('any value of any type in any column is accepted as input, and the other rows stay sound', () => {
  fc.assert(
    fc.property(fc.constantFrom(...Object.keys(ROWS[0])), anyValue, (column, value) => {
      const [before, fault, behind] = contents.faultsOf([ROWS[0], { ...ROWS[1], [column]: value }, ROWS[2]]);
      assert.deepEqual([before, behind], [undefined, undefined]);
      const isHashed = HASHED.some((hashed) => hashed === column);
      assert.ok(typeof fault === 'string' || !isHashed, `${column} was changed`);
    }),
  );
});

test('a flipped bit in hashed data is always a fault', () => {
  fc.assert(
    fc.property(fc.constantFrom(...HASHED), fc.nat(), fc.nat(7), (column, at, bit) => {
      const bytes = Uint8Array.from(ROWS[1][column] as Uint8Array);
      bytes[at % bytes.length]! ^= 1 << bit;
      const [before, fault, behind] = contents.faultsOf([ROWS[0], { ...ROWS[1], [column]: bytes }, ROWS[2]]);
      assert.deepEqual([before, typeof fault, behind], [undefined, 'string', undefined]);
    }),
  );
});
