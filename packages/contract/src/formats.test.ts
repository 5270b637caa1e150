// The formats, by example and against the calendar of the language.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { runs } from '../../evidence/src/testing/size.ts';
import { processorMs } from '../../evidence/src/testing/processor-time.ts';
import { FORMATS, isDateTime, isDuration, isNetwork, isUri, isUuid } from './formats.ts';
import { OPERATIONS } from './operations.ts';
import { asJson } from './schema.ts';
import { everySchema } from './schema-walk.ts';

const LENGTH = 128 * 1024;

test('accepts date-times with any offset and up to nine digits of fraction', () => {
  const accepted = [
    '2026-01-02T03:04:05Z',
    '2026-01-02T03:04:05.678Z',
    '2026-01-02T03:04:05.123456789+05:30',
    '2026-01-02t03:04:05z',
    '2024-02-29T00:00:00-00:00',
    '2000-02-29T23:59:59Z',
  ];
  for (const text of accepted) assert.equal(isDateTime(text), true, text);
});

test('refuses an instant that in UTC is outside the years of four digits, and accepts the last one inside', () => {
  const table: [string, boolean][] = [
    ['9999-12-31T23:59:59Z', true],
    ['9999-12-31T23:59:59.999999999+00:00', true],
    ['9999-12-31T22:59:59-01:00', true],
    ['9999-12-31T23:00:00-01:00', false],
    ['9999-12-31T23:59:59-01:00', false],
    ['9999-12-30T23:59:59-23:59', true],
    ['0000-01-01T00:00:00Z', true],
    ['0000-01-01T01:00:00+01:00', true],
    ['0000-01-01T00:59:59+01:00', false],
    ['0000-01-01T00:00:00+00:01', false],
    ['0000-01-02T00:00:00+23:59', true],
  ];
  for (const [text, expected] of table) assert.equal(isDateTime(text), expected, text);
});

test('refuses days that do not exist, missing parts, and more digits than are kept', () => {
  const refused = [
    '2026-02-30T00:00:00Z',
    '2025-02-29T00:00:00Z',
    '1900-02-29T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-00-01T00:00:00Z',
    '2026-01-00T00:00:00Z',
    '2026-01-02T24:00:00Z',
    '2026-01-02T03:04:60Z',
    '2026-01-02T03:04:05',
    '2026-01-02 03:04:05Z',
    '2026-01-02T03:04Z',
    '2026-01-02T03:04:05.Z',
    '2026-01-02T03:04:05.1234567890Z',
    '2026-01-02T03:04:05+24:00',
    '2026-01-02T03:04:05+0530',
    '+02026-01-02T03:04:05Z',
    '2026-01-02T03:04:05Z\n',
    '',
  ];
  for (const text of refused) assert.equal(isDateTime(text), false, JSON.stringify(text));
});

test('agrees with the calendar about every day from year 0 to 9999 (seed 20260102)', () => {
  const parts = fc.tuple(
    fc.integer({ min: 0, max: 9999 }),
    fc.integer({ min: 0, max: 13 }),
    fc.integer({ min: 0, max: 32 }),
  );
  const pad = (value: number, length: number) => String(value).padStart(length, '0');
  const claim = fc.property(parts, ([year, month, day]) => {
    const date = new Date(0);
    date.setUTCFullYear(year, month - 1, day);
    const exists =
      date.getUTCFullYear() === year && date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
    assert.equal(isDateTime(`${pad(year, 4)}-${pad(month, 2)}-${pad(day, 2)}T00:00:00Z`), exists);
  });
  fc.assert(claim, { seed: 20_260_102, numRuns: runs(5000) });
});

test('a duration has at least one part, in order', () => {
  for (const text of [
    'P7Y',
    'P1D',
    'PT1H',
    'P1W',
    'P1Y2M3DT4H5M6S',
    'PT0.5S',
    'PT0,5S',
    'PT36H',
    'P1.5D',
    'P0.5W',
    'P1YT1.5M',
    'PT1H0.25M',
  ]) {
    assert.equal(isDuration(text), true, text);
  }
  for (const text of [
    'P',
    'PT',
    'P1',
    '7Y',
    'P1H',
    'P1DT',
    'P1M1Y',
    '-P1D',
    'P1.5Y',
    'P0.5M',
    'P1.5DT1H',
    'PT1.5H30M',
    'PT.5S',
    'PT1.S',
    'p1d',
    '',
  ]) {
    assert.equal(isDuration(text), false, text);
  }
});

test('a UUID is read in either case', () => {
  assert.equal(isUuid('7d3f0c52-6a3e-4b51-9a0e-2f6b1f3c9d11'), true);
  assert.equal(isUuid('7D3F0C52-6A3E-4B51-9A0E-2F6B1F3C9D11'), true);
  assert.equal(isUuid('7d3f0c526a3e4b519a0e2f6b1f3c9d11'), false);
});

test('a URI is absolute', () => {
  assert.equal(isUri('https://example.com/hook?x=1'), true);
  for (const text of ['/hook', 'example.com', 'https://', 'https://exa mple.com'])
    assert.equal(isUri(text), false, text);
});

test('formats and patterns refuse a long text in a moment, whatever it is made of', () => {
  const units = [
    'a',
    '0',
    '9.',
    '-',
    '@',
    ':',
    '::',
    '1:',
    'ab:',
    '255.',
    'P1',
    '1Y',
    '0.',
    ' ',
    '\n',
    'é',
    '/',
    'a/',
    '_',
    '%',
    '[',
    '2026-01-01T00:00:00.0',
  ];
  const patterns = OPERATIONS.flatMap(({ input }) =>
    [...everySchema(asJson(input))].map(([, { pattern }]) => pattern),
  );
  const tests: [string, (text: string) => unknown][] = [
    ...Object.entries(FORMATS),
    ...[...new Set(patterns)].flatMap((pattern): [string, (text: string) => unknown][] => {
      if (pattern === undefined) return [];
      const compiled = new RegExp(pattern, 'u');
      return [[pattern, (text) => compiled.test(text)]];
    }),
  ];
  assert.ok(tests.length > 15, `${tests.length}`);
  for (const [name, run] of tests) {
    for (const unit of units) {
      for (const end of ['', '!']) {
        const text = unit.repeat(LENGTH / unit.length) + end;
        // Whatever is not linear takes seconds.
        const tookMs = processorMs(() => run(text));
        assert.ok(tookMs < 200, `${name} on ${JSON.stringify(unit)}: ${tookMs} ms`);
      }
    }
  }
});

test('accepts networks in every spelling, up to the longest', () => {
  const accepted = [
    '10.0.0.0/8',
    '203.0.113.7',
    '::',
    '::1/128',
    '2001:db8::/32',
    'ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255/128',
  ];
  for (const text of accepted) assert.equal(isNetwork(text), true, text);
  const refused = [
    '',
    '10.0.0.0/33',
    '::/129',
    ':',
    'a',
    '1.2.3',
    '::1/',
    '::1/1/1',
    '[::1]',
    '::ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255/128',
  ];
  for (const text of refused) assert.equal(isNetwork(text), false, text);
});
