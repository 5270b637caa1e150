import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { concat, toHex, utf8 } from '../bytes.ts';
import { HashPool } from './hash-pool.ts';
import { plainCompressor, vectorCompressor, wordCompressor } from './sha256-compressor.ts';
import { sha256 } from './sha256.ts';

const SEED = 20260103;
const MEBIBYTE = 1024 * 1024;

const expected = (message: Uint8Array): string => hash('sha256', message, 'hex');

function bytesOfLength(length: number, first = 0): Uint8Array {
  return Uint8Array.from({ length }, (_, i) => (i * 151 + first * 7 + length) & 255);
}

/** Gives a message to the pool; returns where its hash will be. */
function add(pool: HashPool, message: Uint8Array): number {
  const to = pool.room(32);
  const at = pool.room(message.length);
  pool.bytes.set(message, at);
  pool.hash(at, message.length, to);
  return to;
}

function assertDigests(pool: HashPool, messages: readonly Uint8Array[], digestsAt: readonly number[]): void {
  for (const [i, message] of messages.entries()) {
    const digest = toHex(pool.digest(digestsAt[i]!));
    assert.equal(digest, expected(message), `message ${i} of ${message.length} bytes`);
  }
}

function assertHashes(pool: HashPool, messages: readonly Uint8Array[]): void {
  const digestsAt = messages.map((message) => add(pool, message));
  pool.run();
  assertDigests(pool, messages, digestsAt);
}

for (const make of [vectorCompressor, wordCompressor, plainCompressor]) {
  describe(`by ${make.name}`, () => {
    test('agrees with node:crypto on every length from 0 to 300, at every number of messages to 9', () => {
      const pool = new HashPool(make);
      for (let length = 0; length <= 300; length++) {
        pool.reset();
        const messages = Array.from({ length: 1 + (length % 9) }, (_, i) => bytesOfLength(length, i));
        assertHashes(pool, messages);
      }
    });

    test(`agrees with node:crypto on pools of random messages, in several runs (seed ${SEED})`, () => {
      const pool = new HashPool(make);
      const message = fc.oneof(
        fc.uint8Array({ maxLength: 200, size: 'max' }),
        fc.uint8Array({ maxLength: 6000, size: 'max' }),
      );
      const runs = fc.array(fc.array(message, { maxLength: 60, size: 'max' }), { maxLength: 3 });
      fc.assert(
        fc.property(runs, (runs) => {
          pool.reset();
          const digestsAt = runs.flatMap((messages) => {
            const added = messages.map((message) => add(pool, message));
            pool.run();
            return added;
          });
          assertDigests(pool, runs.flat(), digestsAt);
        }),
        { seed: SEED, numRuns: 25 },
      );
    });

    test('takes messages that are longer than its memory, between shorter ones', () => {
      const pool = new HashPool(make);
      const messages = [10, 300_000, 70, 3 * MEBIBYTE, 117, 10, 10, 4000, 10].map((n) => bytesOfLength(n));
      assertHashes(pool, messages);
    });

    test('hashes messages made of earlier hashes, level by level', () => {
      const pool = new HashPool(make);
      let level = Array.from({ length: 64 }, (_, i) => add(pool, bytesOfLength(117, i)));
      let naive = level.map((_, i) => Buffer.from(expected(bytesOfLength(117, i)), 'hex'));
      while (level.length > 1) {
        pool.run();
        const [below, naiveBelow] = [level, naive];
        level = below.filter((_, i) => i % 2 === 0).map((left, i) => addNode(pool, left, below[2 * i + 1]!));
        naive = naiveBelow
          .filter((_, i) => i % 2 === 0)
          .map((left, i) => hash('sha256', concat(Uint8Array.of(1), left, naiveBelow[2 * i + 1]!), 'buffer'));
      }
      pool.run();
      assert.equal(toHex(pool.digest(level[0]!)), toHex(naive[0]!));
    });
  });
}

/** The node over two hashes of the pool. */
function addNode(pool: HashPool, left: number, right: number): number {
  return add(pool, concat(Uint8Array.of(1), pool.digest(left), pool.digest(right)));
}

for (const make of [vectorCompressor, wordCompressor, plainCompressor]) {
  test(`a hash can go into the message that it is a part of, at any offset (${make.name})`, () => {
    const pool = new HashPool(make);
    const parts = Array.from({ length: 7 }, (_, i) => bytesOfLength(100 + i));
    const whole = pool.room(3 + 7 * 32);
    const digest = pool.room(32);
    pool.bytes.set([1, 2, 3], whole);
    for (const [i, part] of parts.entries()) {
      const at = pool.room(part.length);
      pool.bytes.set(part, at);
      pool.hash(at, part.length, whole + 3 + 32 * i);
    }
    pool.run();
    pool.hash(whole, 3 + 7 * 32, digest);
    pool.run();
    const message = concat(Uint8Array.of(1, 2, 3), ...parts.map((part) => hash('sha256', part, 'buffer')));
    assert.equal(toHex(pool.digest(digest)), expected(message));
  });
}

test('takes 100,000 messages', () => {
  const pool = new HashPool();
  assertHashes(
    pool,
    Array.from({ length: 100_000 }, (_, i) => utf8(`${i}`.repeat(1 + (i % 30)))),
  );
});

test('gives memory back on reset that only a large run needed', () => {
  const pool = new HashPool();
  add(pool, new Uint8Array(8 * MEBIBYTE));
  assert.ok(pool.bytes.length > 8 * MEBIBYTE);
  pool.reset();
  assert.equal(pool.bytesUsed, 0);
  assert.ok(pool.bytes.length < MEBIBYTE);
  assertHashes(pool, [utf8('abc')]);
});

test('a message may be shorter than its room, with any bytes there before', () => {
  const pool = new HashPool();
  const to = pool.room(32);
  const at = pool.room(1000);
  pool.bytes.fill(0xff, at, at + 1000);
  pool.bytes.set(utf8('abc'), at);
  pool.hash(at, 3, to);
  pool.run();
  assertDigests(pool, [utf8('abc')], [to]);
});

test('forgets the messages that wait on reset', () => {
  const pool = new HashPool();
  for (const text of ['a', 'b', 'c']) add(pool, utf8(text));
  pool.reset();
  assertHashes(
    pool,
    [100, 101, 102, 103, 1].map((length) => bytesOfLength(length)),
  );
});

test('refuses a message that is longer than a pool takes, or reaches out of the room that was taken', () => {
  const pool = new HashPool();
  assert.throws(
    () => pool.room(256 * MEBIBYTE + 1),
    /^RangeError: message is 268435457 bytes; limit 268435456$/,
  );
  for (const length of [-1, Number.NaN]) assert.throws(() => pool.room(length), RangeError);
  const at = pool.room(10);
  for (const length of [-1, Number.NaN, 56, 1000]) {
    assert.throws(() => pool.hash(at, length, at), /^RangeError: message of /, `${length} bytes`);
  }
  for (const wrong of [-1, 0, at - 4, at + 64, Number.NaN]) {
    assert.throws(() => pool.hash(wrong, 10, at), RangeError, `message at ${wrong}`);
    assert.throws(() => pool.hash(at, 10, wrong), RangeError, `hash to ${wrong}`);
  }
  pool.hash(at, 55, at);
});

test('pools and single hashes do not disturb each other', () => {
  const pools = Array.from({ length: 20 }, () => new HashPool());
  const messages = Array.from({ length: 50 }, (_, i) => bytesOfLength(60 + i));
  const digestsAt = messages.map((message) => {
    const [at] = pools.map((pool) => {
      const to = pool.room(32);
      pool.bytes.set(message, pool.room(message.length));
      sha256(utf8('in between'));
      return to;
    });
    for (const pool of pools) pool.hash(at! + 64, message.length, at!);
    return at!;
  });
  for (const pool of pools) {
    pool.run();
    assertDigests(pool, messages, digestsAt);
  }
});
