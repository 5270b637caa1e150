import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { createExpiries, expiryAfter } from './expiry.ts';

const after = (from: string, duration: string) =>
  new Date(expiryAfter(Date.parse(from), duration)).toISOString();

test('years and months are counted as the calendar does, in UTC', () => {
  const table: [from: string, duration: string, expected: string][] = [
    ['2026-01-02T03:04:05.678Z', 'P7Y', '2033-01-02T03:04:05.678Z'],
    ['2024-02-29T12:00:00.000Z', 'P1Y', '2025-02-28T12:00:00.000Z'],
    ['2024-02-29T12:00:00.000Z', 'P4Y', '2028-02-29T12:00:00.000Z'],
    ['2026-01-31T00:00:00.000Z', 'P1M', '2026-02-28T00:00:00.000Z'],
    ['2026-12-31T23:59:59.999Z', 'P2M', '2027-02-28T23:59:59.999Z'],
    ['2026-03-28T23:30:00.000Z', 'P30D', '2026-04-27T23:30:00.000Z'],
    ['2026-01-01T00:00:00.000Z', 'P1Y2M3W4DT5H6M7.5S', '2027-03-26T05:06:07.500Z'],
    ['2026-01-01T00:00:00.000Z', 'PT0.001S', '2026-01-01T00:00:00.001Z'],
    ['2026-01-01T00:00:00.000Z', 'P2W', '2026-01-15T00:00:00.000Z'],
    ['2026-01-01T00:00:00.000Z', 'P0.5W', '2026-01-04T12:00:00.000Z'],
    ['2026-01-01T00:00:00.000Z', 'P1M0,5D', '2026-02-01T12:00:00.000Z'],
    ['2026-01-01T00:00:00.000Z', 'PT1.5H', '2026-01-01T01:30:00.000Z'],
    ['2026-01-01T00:00:00.000Z', 'PT1H0.1M', '2026-01-01T01:00:06.000Z'],
    ['2026-01-01T00:00:00.000Z', 'PT0,5S', '2026-01-01T00:00:00.500Z'],
  ];
  for (const [from, duration, expected] of table) assert.equal(after(from, duration), expected, duration);
});

test('what would end after the year 9999 ends with it', () => {
  for (const duration of ['P8000Y', 'P999999999Y', 'P999999999W', 'P9999Y999999999M']) {
    assert.equal(after('2026-01-01T00:00:00Z', duration), '9999-12-31T23:59:59.999Z', duration);
  }
});

test('what is no duration is a mistake of ours', () => {
  assert.throws(() => expiryAfter(0, '7Y'), /7Y is no duration/);
});

test('what is remembered of a moment is what it would be worked out to be', () => {
  const remembered = createExpiries();
  const asked = fc.tuple(fc.constantFrom(0, 1_767_323_046_000), fc.constantFrom('P7Y', 'P1M', 'PT0.5S'));
  fc.assert(
    fc.property(asked, ([fromMs, duration]) => {
      assert.equal(remembered(fromMs, duration), expiryAfter(fromMs, duration));
    }),
    { seed: 20260101, numRuns: 200 },
  );
});
