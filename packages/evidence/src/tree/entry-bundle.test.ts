import assert from 'node:assert/strict';
import { test } from 'node:test';
import { utf8 } from '../bytes.ts';
import { decodeEntryBundle, encodeEntryBundle } from './entry-bundle.ts';
import { EvidenceError } from '../errors.ts';
import { mutate, seeded } from '../testing/mutations.ts';
import { refusal, resultOrRefusal } from '../testing/refusal.ts';

const SEED = 20260105;

test('writes each entry behind its length in two bytes', () => {
  const entries = ['one', '', 'three'].map(utf8);
  const bytes = encodeEntryBundle(entries);
  assert.deepEqual(bytes, Uint8Array.of(0, 3, 111, 110, 101, 0, 0, 0, 5, 116, 104, 114, 101, 101));
  assert.deepEqual(decodeEntryBundle(bytes, 3), entries);
});

test('holds entries up to 65,535 bytes and bundles up to 256 entries', () => {
  const longest = new Uint8Array(65_535).fill(7);
  assert.deepEqual(decodeEntryBundle(encodeEntryBundle([longest]), 1), [longest]);
  assert.throws(() => encodeEntryBundle([new Uint8Array(65_536)]), refusal('MALFORMED'));
  const most = Array.from({ length: 256 }, (_, i) => Uint8Array.of(i));
  assert.deepEqual(decodeEntryBundle(encodeEntryBundle(most), 256), most);
  assert.throws(() => encodeEntryBundle([...most, most[0]!]), refusal('MALFORMED'));
  assert.throws(() => encodeEntryBundle([]), refusal('MALFORMED'));
});

test('refuses a bundle that is cut anywhere, has more than it says, or says an impossible number', () => {
  const bytes = encodeEntryBundle(['one', 'two'].map(utf8));
  for (let length = 0; length < bytes.length; length++) {
    assert.throws(() => decodeEntryBundle(bytes.subarray(0, length), 2), refusal('TRUNCATED'));
  }
  assert.throws(() => decodeEntryBundle(bytes, 1), refusal('MALFORMED'));
  assert.throws(() => decodeEntryBundle(bytes, 3), refusal('TRUNCATED'));
  for (const width of [0, -1, 257, 1.5, Number.NaN]) {
    assert.throws(() => decodeEntryBundle(bytes, width), refusal('MALFORMED'));
  }
});

test(`every bundle that is read is written the same, and no bytes break the reader (seed ${SEED})`, () => {
  const random = seeded(SEED);
  let accepted = 0;
  for (let i = 0; i < 20_000; i++) {
    const width = 1 + random(4);
    const entries = Array.from({ length: width }, () => new Uint8Array(random(4)).fill(random(3)));
    const bytes = mutate(encodeEntryBundle(entries), random);
    const read = resultOrRefusal(() => decodeEntryBundle(bytes, width));
    if (read instanceof EvidenceError) continue;
    accepted++;
    assert.deepEqual(encodeEntryBundle(read), bytes);
  }
  assert.ok(accepted > 100, `only ${accepted} bundles were accepted`);
});
