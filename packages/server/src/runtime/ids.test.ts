import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { systemClock } from './clock.ts';
import { createFakeClock } from './fake-clock.ts';
import { createUlids, isUlid } from './ids.ts';
import { createSystemRandom, type Random } from './random.ts';

const SEED = 20260101;

/** Random bytes that are all the same. */
const constant = (byte: number): Random => ({
  ...createSystemRandom(),
  bytes: (count) => new Uint8Array(count).fill(byte),
});

test('the time part and the random part are encoded as ULIDs are', () => {
  // The reference: 48 bits of time and 80 random bits, read as one number in base 32.
  const reference = (timeMs: number, bytes: Uint8Array) => {
    let rest = (BigInt(timeMs) << 80n) | BigInt(`0x${Buffer.from(bytes).toString('hex')}`);
    let text = '';
    for (let i = 0; i < 26; i++, rest >>= 5n)
      text = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'[Number(rest & 31n)] + text;
    return text;
  };
  const bytesOf = fc.uint8Array({ minLength: 10, maxLength: 10 });
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 2 ** 48 - 1 }), bytesOf, (timeMs, bytes) => {
      const next = createUlids(createFakeClock(timeMs), { ...constant(0), bytes: () => bytes });
      assert.equal(next(), reference(timeMs, bytes));
    }),
    { seed: SEED, numRuns: 2000 },
  );
});

test('ids are valid and strictly rise, whatever the clock does', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: -100_000, max: 100_000 }), { maxLength: 200 }), (jumps) => {
      const clock = createFakeClock(1_700_000_000_000);
      const next = createUlids(clock, createSystemRandom());
      let last = next();
      for (const jump of jumps) {
        clock.setNow(clock.now() + jump);
        const id = next();
        assert.ok(isUlid(id) && id > last, `${id} after ${last}`);
        last = id;
      }
    }),
    { seed: SEED, numRuns: 300 },
  );
});

test('within a millisecond the random part counts up by one, through every carry', () => {
  const bytes = Uint8Array.from([0x12, 0x34, 0x5f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe]);
  const next = createUlids(createFakeClock(0), { ...constant(0), bytes: () => bytes });
  const ids = [next(), next(), next()];
  assert.deepEqual(ids, [
    '000000000028T5ZZZZZZZZZZZY',
    '000000000028T5ZZZZZZZZZZZZ',
    '000000000028T6000000000000',
  ]);
});

test('a random part that overflows moves the time on by one millisecond', () => {
  const next = createUlids(createFakeClock(41), constant(0xff));
  assert.equal(next(), '0000000019ZZZZZZZZZZZZZZZZ');
  assert.equal(next(), '000000001AZZZZZZZZZZZZZZZZ');
});

test('a clock behind the last id does not make the time part go back', () => {
  const clock = createFakeClock(1_700_000_000_000);
  const next = createUlids(clock, createSystemRandom());
  const before = next();
  clock.setNow(1_600_000_000_000);
  assert.equal(next().slice(0, 10), before.slice(0, 10));
});

test('a time that a ULID cannot hold is refused', () => {
  assert.throws(createUlids(createFakeClock(2 ** 48), createSystemRandom()), /a ULID holds 0 to/);
});

test('two million ids of one source are all different', () => {
  const next = createUlids(systemClock, createSystemRandom());
  let last = '';
  for (let i = 0; i < 2_000_000; i++) {
    const id = next();
    if (!(id > last)) assert.fail(`${id} after ${last}`);
    last = id;
  }
});

test('only the canonical form is a ULID', () => {
  assert.ok(isUlid('01KE0000000000000000000042'));
  assert.ok(isUlid('7ZZZZZZZZZZZZZZZZZZZZZZZZZ'));
  const wrong = [
    '8ZZZZZZZZZZZZZZZZZZZZZZZZZ',
    '01ke0000000000000000000042',
    '01KE000000000000000000004',
    'I'.repeat(26),
    '',
  ];
  for (const text of [...wrong, '01KE0000000000000000000042\n']) assert.equal(isUlid(text), false, text);
});
