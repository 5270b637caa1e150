// Texts of bytes are unique: what decodes encodes to the same text, and everything else is refused.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { compareBytes, concat, fromBase64, readU64, textOf, toBase64, toHex, writeU64 } from './bytes.ts';
import { fromHex } from './hash/from-hex.ts';
import { EvidenceError } from './errors.ts';
import { runs } from './testing/size.ts';

const bytes = fc.uint8Array({ maxLength: 200 });

describe('base64', () => {
  it('is what Node writes and reads', () => {
    fc.assert(
      fc.property(bytes, (b) => {
        assert.equal(toBase64(b), Buffer.from(b).toString('base64'));
        assert.deepEqual(fromBase64(toBase64(b)), b);
      }),
      { seed: 1, numRuns: runs(2000) },
    );
  });

  it('refuses every other text for the same bytes', () => {
    const wrong = [
      'A',
      'AA',
      'AAA',
      'AB==',
      'AAB=',
      'AA=',
      'A===',
      '====',
      'AA==AA==',
      'AAA=\n',
      ' AAA',
      'AA-_',
      'AA€A',
      '=AAA',
      'AA=A',
    ];
    for (const text of wrong) assert.throws(() => fromBase64(text), EvidenceError, text);
  });

  it('accepts a random text only if it is the one for its bytes', () => {
    const digit = fc.constantFrom(...'AQgwBZ+/=');
    fc.assert(
      fc.property(fc.string({ unit: digit, maxLength: 12 }), (text) => {
        let decoded: Uint8Array;
        try {
          decoded = fromBase64(text);
        } catch (error) {
          assert.ok(error instanceof EvidenceError);
          return;
        }
        assert.equal(toBase64(decoded), text);
      }),
      { seed: 2, numRuns: runs(5000) },
    );
  });
});

describe('hexadecimal', () => {
  it('is lowercase and whole', () => {
    fc.assert(
      fc.property(bytes, (b) => assert.deepEqual(fromHex(toHex(b)), b)),
      { seed: 3 },
    );
    for (const text of ['0', 'AB', '0g', '0x', ' 00'])
      assert.throws(() => fromHex(text), EvidenceError, text);
  });

  it('of many bytes is that of each', () => {
    for (const length of [0, 1, 4095, 4096, 4097, 1_000_000]) {
      const many = Uint8Array.from({ length }, (_, i) => i * 31);
      assert.equal(toHex(many), Buffer.from(many).toString('hex'));
    }
  });
});

describe('integers', () => {
  it('are big-endian', () => {
    const room = new Uint8Array(10);
    writeU64(room, 1, 0x0102_0304_0506);
    assert.equal(toHex(room), '00000001020304050600');
  });

  it('come back up to 2^53 - 1, and more is refused', () => {
    const room = new Uint8Array(8);
    for (const value of [
      0,
      1,
      255,
      256,
      2 ** 31,
      2 ** 32 - 1,
      2 ** 32,
      2 ** 40 + 7,
      Number.MAX_SAFE_INTEGER,
    ]) {
      writeU64(room, 0, value);
      assert.equal(readU64(room, 0), value);
    }
    assert.throws(() => readU64(fromHex('0020000000000000'), 0), EvidenceError);
    assert.throws(() => readU64(fromHex('ffffffffffffffff'), 0), EvidenceError);
  });
});

describe('the rest', () => {
  it('orders bytes as unsigned, a prefix first', () => {
    assert.ok(compareBytes(Uint8Array.of(1), Uint8Array.of(1, 0)) < 0);
    assert.ok(compareBytes(Uint8Array.of(0x80), Uint8Array.of(0x7f)) > 0);
    assert.equal(compareBytes(concat(Uint8Array.of(1), Uint8Array.of(2)), Uint8Array.of(1, 2)), 0);
  });

  it('refuses text that is not UTF-8, and keeps a byte order mark', () => {
    assert.throws(() => textOf(Uint8Array.of(0xff)), EvidenceError);
    assert.throws(() => textOf(Uint8Array.of(0xed, 0xa0, 0x80)), EvidenceError);
    assert.equal(textOf(Uint8Array.of(0xef, 0xbb, 0xbf, 0x41)), '\ufeffA');
  });
});
