import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { runs } from '../../../evidence/src/testing/size.ts';
import { formatDuration, formatTimeSpan, parseDuration, parseTimeSpan } from './time-span.ts';

const SEED = 20260102;

test('time spans are read to the tick', () => {
  const table: [string, number | undefined][] = [
    ['00:00:01', 1000],
    ['00:01:00', 60_000],
    ['23:59:59', 86_399_000],
    ['1.00:00:00', 86_400_000],
    ['10.02:03:04', 871_384_000],
    ['00:00:00.5', 500],
    ['00:00:00.0000001', 0.0001],
    ['24:00:00', undefined],
    ['00:60:00', undefined],
    ['00:00:60', undefined],
    ['0:00:01', undefined],
    ['00:00', undefined],
    ['5', undefined],
    ['-00:00:01', undefined],
    ['00:00:01.12345678', undefined],
    [' 00:00:01', undefined],
    ['', undefined],
  ];
  for (const [text, ms] of table) assert.equal(parseTimeSpan(text), ms, text);
});

test('durations are read where their length is fixed', () => {
  const table: [string, number | undefined][] = [
    ['PT1S', 1000],
    ['PT0.25S', 250],
    ['P1D', 86_400_000],
    ['P1W', 604_800_000],
    ['P1DT2H3M4S', 93_784_000],
    ['PT90M', 5_400_000],
    ['P1M', undefined],
    ['P7Y', undefined],
    ['P', undefined],
    ['PT', undefined],
    ['P1DT', undefined],
    ['P1W1D', undefined],
    ['1D', undefined],
    ['pt1s', undefined],
    ['-PT1S', undefined],
  ];
  for (const [text, ms] of table) assert.equal(parseDuration(text), ms, text);
});

test('what is written is read back the same', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 8 * 10 ** 9 }), (ms) => {
      assert.equal(parseTimeSpan(formatTimeSpan(ms * 1e6)), ms);
      assert.equal(parseDuration(formatDuration(ms)), ms);
    }),
    { seed: SEED, numRuns: runs(2000) },
  );
});

test('a measured span shows ticks of 100 nanoseconds', () => {
  assert.equal(formatTimeSpan(1_234_500), '00:00:00.0012345');
  assert.equal(formatTimeSpan(0), '00:00:00.0000000');
  assert.equal(formatTimeSpan(90_061e9), '1.01:01:01.0000000');
});
