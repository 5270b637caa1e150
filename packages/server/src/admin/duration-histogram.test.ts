import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { BOUNDS, DurationHistogram } from './duration-histogram.ts';

test('within a bound are those that took as long or shorter, and all of them are counted', () => {
  const ns = fc.array(fc.integer({ min: 0, max: 120 * 1e9 }), { maxLength: 200 });
  fc.assert(
    fc.property(ns, (spans) => {
      const histogram = new DurationHistogram();
      for (const span of spans) histogram.note(span);
      const expected = BOUNDS.map((bound) => spans.filter((span) => span <= bound * 1e9).length);
      assert.deepEqual(histogram.within(), expected);
      assert.equal(histogram.count, spans.length);
      const sum = spans.reduce((total, span) => total + span, 0) / 1e9;
      assert.ok(Math.abs(histogram.sumSeconds - sum) < 1e-6);
    }),
  );
});

test('a span of exactly a bound is within it', () => {
  const histogram = new DurationHistogram();
  for (const bound of BOUNDS) histogram.note(bound * 1e9);
  assert.deepEqual(
    histogram.within(),
    BOUNDS.map((_, i) => i + 1),
  );
});
