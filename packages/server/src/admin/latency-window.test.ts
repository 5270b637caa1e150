import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { bucketOf, LatencyWindow, leastOf, SLOT_NS, SLOTS, WINDOW_NS } from './latency-window.ts';

const MS = 1e6;

function windowOf(spansUs: readonly number[], nowNs = 0): LatencyWindow {
  const window = new LatencyWindow();
  for (const us of spansUs) window.note(us * 1000, nowNs);
  return window;
}

test('every span falls into the bucket that begins at or before it and ends behind it', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 2 ** 26 - 1 }), (us) => {
      const bucket = bucketOf(us);
      assert.ok(leastOf(bucket) <= us && us < leastOf(bucket + 1), `${us} in ${bucket}`);
    }),
  );
  for (let bucket = 0; bucket < 99; bucket++) {
    assert.equal(bucketOf(leastOf(bucket)), bucket);
    assert.equal(bucketOf(leastOf(bucket + 1) - 1), bucket);
  }
});

test('spans that no clock should give are counted all the same, at an end', () => {
  assert.deepEqual([-5, 0, 0.4, 2 ** 26, 1e12, Infinity, NaN].map(bucketOf), [0, 0, 0, 99, 99, 99, 99]);
});

test('a percentile is at most a quarter, or a microsecond, off the span at its rank', () => {
  const spans = fc.array(fc.integer({ min: 0, max: 2 ** 26 - 1 }), { minLength: 1, maxLength: 300 });
  fc.assert(
    fc.property(spans, (us) => {
      const found = windowOf(us).percentiles(0)!;
      const sorted = us.toSorted((a, b) => a - b);
      for (const [part, ms] of [
        [0.5, found.p50],
        [0.95, found.p95],
        [0.99, found.p99],
      ] as const) {
        const exact = sorted[Math.ceil(sorted.length * part) - 1]!;
        assert.ok(Math.abs(ms * 1000 - exact) <= Math.max(1, exact / 4) + 0.001, `${ms} ms, not ${exact} us`);
      }
      assert.ok(found.p50 <= found.p95 && found.p95 <= found.p99);
    }),
  );
});

test('of evenly spread spans the percentiles are nearly exact', () => {
  const found = windowOf(Array.from({ length: 2 ** 14 }, (_, i) => i + 1)).percentiles(0)!;
  for (const [ms, exact] of [
    [found.p50, 8.192],
    [found.p95, 15.565],
    [found.p99, 16.22],
  ] as const) {
    assert.ok(Math.abs(ms - exact) < exact * 0.02, `${ms} is not near ${exact}`);
  }
});

test('before the first span, and once all are old, there are no percentiles', () => {
  const window = new LatencyWindow();
  assert.equal(window.percentiles(0), undefined);
  window.note(3 * MS, 0);
  assert.ok(window.percentiles(WINDOW_NS - 1) !== undefined);
  assert.equal(window.percentiles(WINDOW_NS), undefined);
});

test('what is older than the window has left no trace, however long the pause was', () => {
  const times = fc.array(fc.record({ afterNs: fc.nat(3 * SLOT_NS), us: fc.nat(1_000_000) }), {
    maxLength: 60,
  });
  fc.assert(
    fc.property(times, fc.nat(2 * WINDOW_NS), (steps, pauseNs) => {
      const window = new LatencyWindow();
      const noted: { readonly atNs: number; readonly us: number }[] = [];
      let nowNs = 0;
      for (const { afterNs, us } of steps) {
        nowNs += afterNs;
        window.note(us * 1000, nowNs);
        noted.push({ atNs: nowNs, us });
      }
      nowNs += pauseNs;
      const oldest = Math.floor(nowNs / SLOT_NS) - SLOTS + 1;
      const fresh = noted.filter(({ atNs }) => Math.floor(atNs / SLOT_NS) >= oldest).map(({ us }) => us);
      assert.deepEqual(window.percentiles(nowNs), windowOf(fresh).percentiles(0));
    }),
  );
});
