import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { HmacSha256 } from './hmac-sha256.ts';

const expected = (key: Uint8Array, text: string) =>
  createHmac('sha256', key).update(text, 'utf8').digest('hex');
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

test('it is HMAC-SHA-256 for every key and text', () => {
  const key = fc.uint8Array({ maxLength: 200 });
  const texts = fc.array(fc.string({ unit: 'grapheme', maxLength: 200 }), { maxLength: 5 });
  fc.assert(
    fc.property(key, texts, (bytes, list) => {
      const hmac = new HmacSha256(bytes);
      for (const text of list) assert.equal(hex(hmac.ofText(text)), expected(bytes, text));
    }),
    { seed: 20_261_116 },
  );
});

test('texts of every length around the end of a block, and longer ones than its memory holds at once', () => {
  const key = new Uint8Array(32).fill(7);
  const hmac = new HmacSha256(key);
  for (let length = 0; length <= 130; length++) {
    const text = 'x'.repeat(length);
    assert.equal(hex(hmac.ofText(text)), expected(key, text), `${length} bytes`);
  }
  for (const text of ['y'.repeat(21_000), 'ž'.repeat(22_000), 'z'.repeat(300_000)])
    assert.equal(hex(hmac.ofText(text)), expected(key, text), `${text.length} units`);
});

test('the first case of RFC 4231; what was given is not written over by the next, nor the key by its owner', () => {
  const key = new Uint8Array(20).fill(0x0b);
  const hmac = new HmacSha256(key);
  key.fill(0);
  const first = hmac.ofText('Hi There');
  hmac.ofText('something else');
  new HmacSha256(new Uint8Array(64)).ofText('by another key');
  assert.equal(hex(first), 'b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7');
  assert.equal(hex(hmac.ofText('Hi There')), hex(first));
});
