import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { dayOf, hourOf, monthBegin, monthOf, spansBetween } from './time-span.ts';

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
