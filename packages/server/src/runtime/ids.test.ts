import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ULID_PATTERN } from '@tallystick/contract';
import * as fc from 'fast-check';
import { runs } from '../../../evidence/src/testing/size.ts';
import { systemClock } from './clock.ts';
import { createFakeClock } from '../testing/fake-clock.ts';
import { createUlids, CROCKFORD, lastUlidOf, ulidTimeMs } from './ids.ts';
import { createSystemRandom, type Random } from './random.ts';

const SEED = 20260101;
const isUlid = (text: string) => new RegExp(ULID_PATTERN).test(text);

/** The number that bytes, or the digits of an id, stand for. */
const numberIn = (bytes: Uint8Array) => BigInt(`0x${Buffer.from(bytes).toString('hex')}`);
const numberOf = (id: string) =>
  [...id].reduce((sum, digit) => sum * 32n + BigInt(CROCKFORD.indexOf(digit)), 0n);

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
    { seed: SEED, numRuns: runs(2000) },
  );
});

test('ids are valid and strictly increasing for any clock', () => {
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

test('while the clock is behind the random part grows by one and 40 random bits, through every carry', () => {
  const start = fc.uint8Array({ minLength: 10, maxLength: 10 });
  const nearEnd = start.map((bytes) => bytes.fill(0xff, 2, 7));
  const steps = fc.uint8Array({ minLength: 5, maxLength: 5 });
  fc.assert(
    fc.property(fc.oneof(start, nearEnd), fc.array(steps, { maxLength: 20 }), (first, then) => {
      fc.pre(first[0] !== 0xff);
      const given = [first, ...then];
      const clock = createFakeClock(1);
      const next = createUlids(clock, { ...constant(0), bytes: () => given.shift()! });
      let expected = (1n << 80n) + numberIn(first);
      assert.equal(numberOf(next()), expected);
      clock.setNow(0);
      for (const step of then) {
        expected += 1n + numberIn(step);
        assert.equal(numberOf(next()), expected);
      }
    }),
    { seed: SEED, numRuns: runs(1000) },
  );
});

test('while the clock is behind, no id tells the next one', () => {
  const clock = createFakeClock(1_700_000_000_000);
  const next = createUlids(clock, createSystemRandom());
  next();
  clock.setNow(1_600_000_000_000);
  const ids = Array.from({ length: 1000 }, () => numberOf(next()));
  const steps = ids.slice(1).map((id, i) => id - ids[i]!);
  assert.equal(new Set(steps).size, steps.length);
  assert.ok(steps.filter((step) => step > 2n ** 36n).length > 800);
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

test('the time of an id is read back, and the last one of a millisecond is greater than all others of it', () => {
  for (const ms of [0, 1, 1_767_323_045_678, 2 ** 48 - 1]) {
    const clock = createFakeClock(ms);
    const next = createUlids(clock, constant(0xf0));
    for (const id of [next(), next()]) {
      assert.equal(ulidTimeMs(id), ms);
      assert.ok(id < lastUlidOf(ms));
      assert.ok(ms === 0 || id > lastUlidOf(ms - 1));
    }
  }
  assert.ok(isUlid(lastUlidOf(Number.MAX_SAFE_INTEGER)));
  assert.equal(lastUlidOf(-1), lastUlidOf(0));
});
