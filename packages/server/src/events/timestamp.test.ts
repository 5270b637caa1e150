import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isDateTime } from '@tallystick/contract';
import * as fc from 'fast-check';
import { isAfter, latestTimestamp, utcTimestamp } from './timestamp.ts';

test('a timestamp is kept in UTC with its fraction as sent', () => {
  const table: [sent: string, kept: string][] = [
    ['2026-01-02T03:04:05Z', '2026-01-02T03:04:05.000Z'],
    ['2026-01-02t03:04:05z', '2026-01-02T03:04:05.000Z'],
    ['2026-01-02T03:04:05.5Z', '2026-01-02T03:04:05.5Z'],
    ['2026-01-02T03:04:05.000000000Z', '2026-01-02T03:04:05.000000000Z'],
    ['2026-01-02T03:04:05.123456789Z', '2026-01-02T03:04:05.123456789Z'],
    ['2026-01-02T03:04:05.123456789+02:30', '2026-01-02T00:34:05.123456789Z'],
    ['2026-01-01T00:04:59+01:00', '2025-12-31T23:04:59.000Z'],
    ['2024-02-28T23:30:00.1-00:45', '2024-02-29T00:15:00.1Z'],
    ['2026-01-02T03:04:05-00:00', '2026-01-02T03:04:05.000Z'],
    ['0000-01-01T00:00:00Z', '0000-01-01T00:00:00.000Z'],
    ['0001-01-01T00:00:00+23:00', '0000-12-31T01:00:00.000Z'],
    ['9999-12-31T23:59:59.999999999Z', '9999-12-31T23:59:59.999999999Z'],
  ];
  for (const [sent, kept] of table) {
    assert.ok(isDateTime(sent), sent);
    assert.equal(utcTimestamp(sent), kept);
  }
});

const digits = fc.stringMatching(/^[0-9]{1,9}$/);
const zone = fc.oneof(
  fc.constantFrom('Z', 'z', '-00:00'),
  fc
    .tuple(fc.constantFrom('+', '-'), fc.integer({ min: 0, max: 23 }), fc.integer({ min: 0, max: 59 }))
    .map(
      ([sign, hours, minutes]) =>
        `${sign}${String(hours).padStart(2, '0')}:${String(minutes).padStart(2, '0')}`,
    ),
);
const sent = fc
  .tuple(
    fc.date({
      min: new Date('0001-01-02T00:00:00Z'),
      max: new Date('9999-12-30T00:00:00Z'),
      noInvalidDate: true,
    }),
    fc.option(digits),
    zone,
  )
  .map(
    ([date, fraction, end]) =>
      date.toISOString().slice(0, 19) + (fraction === null ? '' : `.${fraction}`) + end,
  );

test('what is kept is the same instant, valid, and kept as it is when it comes back', () => {
  fc.assert(
    fc.property(sent, (text) => {
      const kept = utcTimestamp(text);
      assert.ok(isDateTime(kept) && kept.endsWith('Z'), kept);
      assert.equal(Date.parse(kept.slice(0, 19) + 'Z'), Date.parse(text.replace(/\.\d+/, '').toUpperCase()));
      assert.equal(utcTimestamp(kept), kept);
    }),
  );
});

test('five minutes ahead is accepted to the last digit, and nothing after', () => {
  const limit = latestTimestamp(Date.UTC(2026, 0, 2, 3, 4, 5, 678));
  assert.equal(limit, '2026-01-02T03:09:05.678Z');
  for (const before of ['05.678', '05.6780', '05.678000000', '05.67', '05.677999999', '04.999999999']) {
    assert.equal(isAfter(`2026-01-02T03:09:${before}Z`, limit), false, before);
  }
  for (const after of ['05.678000001', '05.6781', '05.679', '06.000', '05.9']) {
    assert.equal(isAfter(`2026-01-02T03:09:${after}Z`, limit), true, after);
  }
  assert.equal(isAfter('2026-01-02T03:10:00.000Z', limit), true);
  assert.equal(isAfter('2025-12-31T23:59:59.999Z', limit), false);
});
