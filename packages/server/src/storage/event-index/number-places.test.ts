import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { placesFor, placesOf } from './number-places.ts';

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

test('every number that is asked for lies in one of the places that are looked for', () => {
  fc.assert(
    fc.property(
      numbers,
      numbers,
      fc.constantFrom(...(Object.keys(HOLDS) as (keyof typeof HOLDS)[])),
      (a, b, operator) => {
        const found = placesFor(operator, b).some((place) => placesOf(a).includes(place));
        assert.ok(found || !HOLDS[operator](a, b), `${a} ${operator} ${b}`);
      },
    ),
    { numRuns: 2000 },
  );
});

test('few others lie there: within the same 256th of a power of two', () => {
  const finds = (number: number) => placesFor('>', 9995).some((place) => placesOf(number).includes(place));
  assert.deepEqual([9950, 9990, 9995, 10_000, 1e9].map(finds), [false, true, true, true, true]);
});
