import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { concat, toHex, utf8 } from '../bytes.ts';
import { pad, plainCompressor, vectorCompressor, wordCompressor } from './sha256-compressor.ts';
import { MESSAGES_AT, sha256Module } from './sha256-module.ts';
import { fastSha256, hashParts } from './sha256-fast.ts';
import { sha256, Sha256Stream } from './sha256.ts';

const SEED = 20260102;

const expected = (message: Uint8Array): string => hash('sha256', message, 'hex');

/** Bytes that differ at every place, and from length to length. */
function bytesOfLength(length: number): Uint8Array {
  return Uint8Array.from({ length }, (_, i) => (i * 151 + length * 7 + (i >> 8)) & 255);
}

// FIPS 180-4 examples, and the long message of FIPS 180-2, appendix B.3.
const KNOWN: [string, string, string][] = [
  ['the empty message', '', 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'],
  ['24 bits', 'abc', 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'],
  [
    '448 bits',
    'abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq',
    '248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1',
  ],
  [
    '896 bits',
    'abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu',
    'cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1',
  ],
  ['a million a', 'a'.repeat(1_000_000), 'cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0'],
];

for (const make of [vectorCompressor, wordCompressor, plainCompressor]) {
  const compressor = make();

  describe(`by ${make.name}`, () => {
    for (const [name, message, digest] of KNOWN) {
      test(`gives the published hash of ${name}`, () => {
        assert.equal(toHex(hashParts(compressor, [utf8(message)])), digest);
        assert.equal(toHex(new Sha256Stream().update(utf8(message)).digest()), digest);
        assert.equal(toHex(sha256(utf8(message))), digest);
      });
    }

    test('agrees with node:crypto on every length from 0 to 300', () => {
      for (let length = 0; length <= 300; length++) {
        const message = bytesOfLength(length);
        assert.equal(toHex(hashParts(compressor, [message])), expected(message), `length ${length}`);
        assert.equal(toHex(sha256(message)), expected(message), `length ${length}`);
      }
    });

    test(`agrees with node:crypto on random messages to 10,000 bytes, however they are cut (seed ${SEED})`, () => {
      const parts = fc.array(fc.uint8Array({ maxLength: 2500, size: 'max' }), { maxLength: 4 });
      fc.assert(
        fc.property(parts, (parts) => {
          assert.equal(toHex(hashParts(compressor, parts)), expected(concat(...parts)));
          assert.equal(toHex(sha256(...parts)), expected(concat(...parts)));
        }),
        { seed: SEED, numRuns: 300 },
      );
    });

    test(`a stream gives the same hash however its message is cut (seed ${SEED})`, () => {
      const message = bytesOfLength(300_000);
      const cuts = fc.array(fc.nat({ max: message.length }), { maxLength: 12 });
      fc.assert(
        fc.property(cuts, (cuts) => {
          const stream = new Sha256Stream();
          let from = 0;
          for (const to of [...cuts, message.length].toSorted((a, b) => a - b)) {
            stream.update(message.subarray(from, to));
            from = to;
          }
          assert.equal(toHex(stream.digest()), expected(message));
        }),
        { seed: SEED, numRuns: 10 },
      );
    });

    test('a stream gives the hash so far after every byte, and streams do not disturb each other', () => {
      const message = bytesOfLength(200);
      const [one, other] = [new Sha256Stream(), new Sha256Stream()];
      for (let length = 1; length <= message.length; length++) {
        one.update(message.subarray(length - 1, length));
        other.update(message);
        assert.equal(toHex(one.digest()), expected(message.subarray(0, length)));
      }
      assert.equal(toHex(other.digest()), expected(concat(...Array<Uint8Array>(200).fill(message))));
    });

    test('pads messages over 512 MiB with all 64 bits of their length', () => {
      assert.equal(pad(compressor, MESSAGES_AT, 3, 2 ** 29 * 5), 1);
      const padding = compressor.bytes.slice(MESSAGES_AT + 3, MESSAGES_AT + 64);
      assert.equal(toHex(padding), `80${'00'.repeat(52)}0000000500000018`);
    });
  });
}

test('gives every hash in an array of its own', () => {
  const first = sha256(utf8('abc'));
  const kept = toHex(first);
  sha256(utf8('another'));
  assert.equal(toHex(first), kept);
  assert.equal(first.buffer.byteLength, 32);
});

test('hashes a view of a larger buffer, and no parts at all', () => {
  const message = bytesOfLength(500);
  assert.equal(toHex(sha256(message.subarray(17, 230))), expected(message.slice(17, 230)));
  assert.equal(toHex(sha256()), expected(new Uint8Array(0)));
});

test('changes its way without a seam where messages get too long for one piece', () => {
  for (let length = 64_900; length <= 65_600; length += 7) {
    const message = bytesOfLength(length);
    assert.equal(toHex(fastSha256(message)), expected(message), `length ${length}`);
  }
});

test('writes the same module every time', () => {
  for (const simd of [true, false]) assert.deepEqual(sha256Module({ simd }), sha256Module({ simd }));
});
