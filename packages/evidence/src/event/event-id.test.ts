import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { toHex } from '../bytes.ts';
import { fromHex } from '../hash/from-hex.ts';
import { refusal } from '../testing/refusal.ts';
import { EVENT_ID_LENGTH, eventIdBytes, writeEventId } from './event-id-bytes.ts';
import { eventIdText } from './event-id.ts';

const SEED = 20260116;
const DIGITS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** The same by one large number. */
const naiveText = (bytes: Uint8Array): string => {
  let rest = BigInt(`0x${toHex(bytes)}`);
  let text = '';
  for (let i = 0; i < 26; i++, rest /= 32n) text = DIGITS[Number(rest % 32n)]! + text;
  return text;
};

test(`16 bytes have one text of 26 digits, and it leads back to them (seed ${SEED})`, () => {
  const ends = ['00'.repeat(16), 'ff'.repeat(16), `80${'00'.repeat(15)}`, `${'00'.repeat(15)}01`].map(
    fromHex,
  );
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 16, maxLength: 16 }), (bytes) => {
      const text = eventIdText(bytes);
      assert.equal(text, naiveText(bytes));
      assert.equal(text.length, EVENT_ID_LENGTH);
      assert.deepEqual(eventIdBytes(text), bytes);
    }),
    { seed: SEED, numRuns: 500, examples: ends.map((bytes): [Uint8Array] => [bytes]) },
  );
});

test('has the text of the published vector', () => {
  assert.equal(toHex(eventIdBytes('01KE0000000000000000000042')), '019b8000000000000000000000000082');
});

test('is written where it is wanted, and nowhere else', () => {
  const into = new Uint8Array(20).fill(9);
  writeEventId('7ZZZZZZZZZZZZZZZZZZZZZZZZZ', into, 2);
  assert.deepEqual(into, Uint8Array.of(9, 9, ...new Uint8Array(16).fill(255), 9, 9));
});

test('refuses what is no ULID', () => {
  const good = '01KE0000000000000000000042';
  eventIdBytes(good);
  for (const bad of [
    '',
    good.slice(1),
    `${good}0`,
    `8${good.slice(1)}`,
    `Z${good.slice(1)}`,
    good.toLowerCase(),
    ...['I', 'L', 'O', 'U', ' ', '/', ':', '@', '[', '\x7f', '\x80', 'é', '٠', 'ı'].flatMap((digit) => [
      good.slice(0, -1) + digit,
      good[0]! + digit + good.slice(2),
    ]),
  ]) {
    assert.throws(() => eventIdBytes(bad), refusal('MALFORMED'), bad);
  }
});
