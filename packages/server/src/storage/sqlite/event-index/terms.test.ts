import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import * as fc from 'fast-check';
import {
  dayOf,
  escaped,
  hourOf,
  monthBegin,
  monthOf,
  numberTerm,
  numberTerms,
  placesFor,
  ViewTerms,
} from './terms.ts';
import { spansBetween } from './time-span.ts';

const numbers = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.integer(),
  fc.constantFrom(0, -0, 1, -1, 1024, 1023.999, 2 ** 64, 2 ** -64, 2 ** 70, -(2 ** 70), 5e-324, 1.7e308),
);
const HOLDS = {
  '=': (a: number, b: number) => a === b,
  '>': (a: number, b: number) => a > b,
  '>=': (a: number, b: number) => a >= b,
  '<': (a: number, b: number) => a < b,
  '<=': (a: number, b: number) => a <= b,
};

test('every number that is asked for has one of the terms that are looked for', () => {
  fc.assert(
    fc.property(
      numbers,
      numbers,
      fc.constantFrom(...(Object.keys(HOLDS) as (keyof typeof HOLDS)[])),
      (a, b, operator) => {
        const terms = numberTerms(['x'], a);
        const found = placesFor(operator, b).some((place) => terms.includes(numberTerm(['x'], place)));
        assert.ok(found || !HOLDS[operator](a, b), `${a} ${operator} ${b}`);
      },
    ),
    { numRuns: 2000 },
  );
});

test('few others have one: within the same 256th of a power of two', () => {
  const finds = (number: number) =>
    placesFor('>', 9995).some((place) => numberTerms(['x'], number).includes(numberTerm(['x'], place)));
  assert.deepEqual([9950, 9990, 9995, 10_000, 1e9].map(finds), [false, true, true, true, true]);
});

test('what is escaped is one term, tells texts apart, and begins as they do', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'grapheme' }), (a, b) => {
      assert.match(escaped(a), /^[a-z0-9_\u0080-\uffff]*$/);
      assert.equal(escaped(a) === escaped(b), a === b);
      assert.equal(escaped(a + b), escaped(a) + escaped(b));
    }),
  );
});

test('a keyed term is an HMAC under a key of the tenant and the class, and shows nothing else', () => {
  const secret = new Uint8Array(32).fill(7);
  const terms = new ViewTerms(5, secret);
  const key = createHmac('sha256', secret).update('index of Secret').digest();
  const mac = createHmac('sha256', key).update('refund').digest('hex').slice(0, 20);
  assert.equal(terms.keyed('Secret', 'refund'), `5_k${mac}`);
  assert.notEqual(terms.keyed('Confidential', 'refund'), terms.keyed('Secret', 'refund'));
  assert.notEqual(new ViewTerms(5, new Uint8Array(32)).keyed('Secret', 'refund'), `5_k${mac}`);
});

test('a time is made of whole months, days and hours, without a gap and without an overlap', () => {
  const hours = fc.integer({ min: hourOf(Date.UTC(1968, 0, 1)), max: hourOf(Date.UTC(2030, 0, 1)) });
  fc.assert(
    fc.property(hours, fc.nat({ max: 20_000 }), (first, length) => {
      let next = first;
      for (const { span, time } of spansBetween(first, first + length)) {
        if (span === 'month') {
          assert.deepEqual([monthOf(next), next], [time, monthBegin(time)]);
          next = monthBegin(time + 1);
        } else if (span === 'day') {
          assert.deepEqual([dayOf(next), Math.abs(next % 24)], [time, 0]);
          next += 24;
        } else {
          assert.equal(next, time);
          next += 1;
        }
      }
      assert.equal(next, first + length + 1);
    }),
  );
});
