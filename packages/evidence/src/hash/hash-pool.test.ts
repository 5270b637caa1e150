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

function assertDigests(pool: HashPool, messages: readonly Uint8Array[]): void {
  for (const [i, message] of messages.entries()) {
    assert.equal(toHex(pool.digest(i)), expected(message), `message ${i} of ${message.length} bytes`);
  }
}

for (const make of [vectorCompressor, wordCompressor, plainCompressor]) {
  describe(`by ${make.name}`, () => {
    test('agrees with node:crypto on every length from 0 to 300, at every number of messages to 9', () => {
      const pool = new HashPool(make);
      for (let length = 0; length <= 300; length++) {
        pool.reset();
        const messages = Array.from({ length: 1 + (length % 9) }, (_, i) => bytesOfLength(length, i));
        for (const message of messages) pool.add(message);
        pool.run();
        assertDigests(pool, messages);
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
          for (const messages of runs) {
            for (const message of messages) pool.add(message);
            pool.run();
          }
          assertDigests(pool, runs.flat());
        }),
        { seed: SEED, numRuns: 25 },
      );
    });

    test('takes messages that are longer than its memory, between shorter ones', () => {
      const pool = new HashPool(make);
      const messages = [10, 300_000, 70, 3 * MEBIBYTE, 117, 10, 10, 4000, 10].map((n) => bytesOfLength(n));
      for (const message of messages) pool.add(message);
      pool.run();
      assertDigests(pool, messages);
    });

    test('hashes messages made of earlier hashes, level by level', () => {
      const pool = new HashPool(make);
      let level = Array.from({ length: 64 }, (_, i) => pool.add(bytesOfLength(117, i)));
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

function addNode(pool: HashPool, left: number, right: number): number {
  const at = pool.open(65);
  pool.bytes[at] = 1;
  pool.copyDigest(left, at + 1);
  pool.copyDigest(right, at + 33);
  return pool.close(65);
}

test('keeps 100,000 hashes, and none of their messages, until it is reset', () => {
  const pool = new HashPool();
  const memoryBytes = pool.bytes.length;
  const messages = Array.from({ length: 100_000 }, (_, i) => utf8(`${i}`.repeat(1 + (i % 30))));
  for (const message of messages) pool.add(message);
  pool.run();
  assertDigests(pool, messages);
  assert.equal(pool.bytes.length, memoryBytes);
  const { digests } = pool;
  const at = pool.digestOffset(99_999);
  assert.equal(toHex(digests.subarray(at, at + 32)), expected(messages[99_999]!));
});

test('gives memory back on reset that only a large run needed', () => {
  const pool = new HashPool();
  pool.add(new Uint8Array(2 * MEBIBYTE));
  for (let i = 0; i < 100_000; i++) pool.add();
  pool.run();
  assert.ok(pool.bytes.length > 2 * MEBIBYTE);
  pool.reset();
  assert.ok(pool.bytes.length + pool.digests.length < MEBIBYTE);
  pool.add(utf8('abc'));
  pool.run();
  assertDigests(pool, [utf8('abc')]);
});

test('a message may be shorter than it was opened for', () => {
  const pool = new HashPool();
  const at = pool.open(1000);
  pool.bytes.fill(0xff, at, at + 1000);
  pool.bytes.set(utf8('abc'), at);
  pool.close(3);
  pool.run();
  assertDigests(pool, [utf8('abc')]);
});

test('forgets an open message when another is opened, and on a run', () => {
  const pool = new HashPool();
  pool.open(10);
  pool.add(utf8('one'));
  pool.open(10);
  pool.run();
  assert.throws(() => pool.close(5), /^RangeError: message is 5 bytes; opened for -1$/);
  assertDigests(pool, [utf8('one')]);
});

test('forgets the messages that wait on reset', () => {
  const pool = new HashPool();
  for (const text of ['a', 'b', 'c']) pool.add(utf8(text));
  pool.reset();
  const messages = [100, 101, 102, 103, 1].map((length) => bytesOfLength(length));
  for (const message of messages) pool.add(message);
  pool.run();
  assertDigests(pool, messages);
});

test('refuses a message that is longer than it was opened for, or than a pool takes', () => {
  const pool = new HashPool();
  pool.open(10);
  assert.throws(() => pool.close(11), /^RangeError: message is 11 bytes; opened for 10$/);
  assert.throws(() => pool.close(-1), RangeError);
  assert.throws(() => pool.close(Number.NaN), RangeError);
  assert.throws(
    () => pool.open(256 * MEBIBYTE + 1),
    /^RangeError: message is 268435457 bytes; limit 268435456$/,
  );
  assert.throws(() => pool.open(-1), RangeError);
});

test('refuses a hash that is not there yet, or not any more', () => {
  const pool = new HashPool();
  pool.add(utf8('a'));
  assert.throws(() => pool.digest(0), /^RangeError: message 0 is not hashed; 0 are$/);
  pool.run();
  pool.add(utf8('b'));
  assert.equal(toHex(pool.digest(0)), expected(utf8('a')));
  assert.throws(() => pool.copyDigest(1, pool.open(32)), /^RangeError: message 1 is not hashed; 1 are$/);
  assert.throws(() => pool.digestOffset(-1), RangeError);
  pool.reset();
  assert.throws(() => pool.digest(0), RangeError);
});

test('pools and single hashes do not disturb each other', () => {
  const pools = Array.from({ length: 20 }, () => new HashPool());
  const messages = Array.from({ length: 50 }, (_, i) => bytesOfLength(60 + i));
  for (const message of messages) {
    for (const pool of pools) {
      pool.bytes.set(message, pool.open(message.length));
      sha256(utf8('in between'));
    }
    for (const pool of pools) pool.close(message.length);
  }
  for (const pool of pools) {
    pool.run();
    assertDigests(pool, messages);
  }
});
