import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { formatKeyRecord, parseKeyRecord } from './signing-key-record.ts';

const SEED = 20261118;
const FINGERPRINT = 'ab'.repeat(32);
const TEXT = `{"fingerprint":"${FINGERPRINT}","createdAt":"2026-01-02T03:04:05.678Z","previousSignsUntil":"2026-01-03T03:04:05.678Z"}\n`;

test('is one line of JSON', () => {
  const record = {
    fingerprint: FINGERPRINT,
    createdAtMs: Date.UTC(2026, 0, 2, 3, 4, 5, 678),
    previousSignsUntilMs: Date.UTC(2026, 0, 3, 3, 4, 5, 678),
  };
  assert.equal(formatKeyRecord(record), TEXT);
  assert.deepEqual(parseKeyRecord(TEXT), record);
});

test('any other text is rejected', () => {
  for (const text of [
    '',
    'null',
    '[]',
    '{}\n',
    TEXT.trim(),
    `${TEXT}\n`,
    ` ${TEXT}`,
    TEXT.replace('ab', 'AB'),
    TEXT.replace('ab', ''),
    TEXT.replace('01-02', '02-30'),
    TEXT.replace('.678Z', 'Z'),
    TEXT.replace('"2026-01-02T03:04:05.678Z"', '5'),
    TEXT.replace('"2026-01-03T03:04:05.678Z"', 'null'),
    TEXT.replace('"2026-01-03T03:04:05.678Z"', '"soon"'),
    TEXT.replace('{', '{"more":1,'),
    TEXT.replace('{', '{"createdAt":"2026-01-02T03:04:05.678Z",'),
  ]) {
    assert.equal(parseKeyRecord(text), undefined, text);
  }
});

test(`a written record is read back unchanged (seed ${SEED})`, () => {
  const times = fc.integer({ min: 0, max: 8.64e15 });
  fc.assert(
    fc.property(times, fc.option(times, { nil: undefined }), (createdAtMs, untilMs) => {
      const record = {
        fingerprint: FINGERPRINT,
        createdAtMs,
        ...(untilMs === undefined ? {} : { previousSignsUntilMs: untilMs }),
      };
      assert.deepEqual(parseKeyRecord(formatKeyRecord(record)), record);
    }),
    { seed: SEED },
  );
});
