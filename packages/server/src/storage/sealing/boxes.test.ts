import assert from 'node:assert/strict';
import { createDecipheriv, createSecretKey } from 'node:crypto';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { type BoxedContent, BoxMaker, BoxOpener, type BoxPlace, Nonces } from './boxes.ts';

const KEY = createSecretKey(new Uint8Array(32).fill(1));
const OTHER_KEY = createSecretKey(new Uint8Array(32).fill(2));
const place = (tenant = 'acme', id = 1): BoxPlace => ({ tenant, eventId: new Uint8Array(16).fill(id) });
const bytes = fc.uint8Array({ maxLength: 200 });
const content = fc.record({
  text1: bytes,
  text2: bytes,
  seeds: bytes,
  closed: fc.option(fc.uint8Array({ minLength: 1, maxLength: 50 }), { nil: undefined }),
});
const plain = (box: BoxedContent | undefined) =>
  Object.entries(box ?? {}).map(([name, value]) => [name, value && [...(value as Uint8Array)]]);
const boxes = new BoxMaker();
const opener = new BoxOpener();
/** Memory of its own. */
const seal = (...args: Parameters<BoxMaker['make']>) => boxes.make(...args).slice();
const SOME = {
  text1: Uint8Array.of(1),
  text2: Uint8Array.of(2, 3),
  seeds: Uint8Array.of(4),
  closed: undefined,
};

test('what was sealed opens as it was', () => {
  const nonces = new Nonces(3);
  fc.assert(
    fc.property(content, (sealed) => {
      const opened = opener.open(seal(sealed, place(), KEY, nonces), place(), KEY);
      assert.deepEqual(plain(opened), plain(sealed));
    }),
  );
});

test('a box opens nowhere else, with no other key, and with no byte changed', () => {
  const box = seal(SOME, place(), KEY, new Nonces(0));
  assert.equal(opener.open(box, place('acme', 2), KEY), undefined, 'in another row');
  assert.equal(opener.open(box, place('beta'), KEY), undefined, 'of another tenant');
  assert.equal(opener.open(box, place(), OTHER_KEY), undefined, 'with another key');
  for (let at = 0; at < box.length; at++) {
    const changed = box.slice();
    changed[at]! ^= 1;
    assert.equal(opener.open(changed, place(), KEY), undefined, `byte ${at}`);
  }
  for (let length = 0; length < box.length; length++)
    assert.equal(opener.open(box.slice(0, length), place(), KEY), undefined, `${length} bytes`);
});

test('nothing but the place keeps a box from opening elsewhere: without it the bytes are the same', () => {
  // The negative control: counter mode alone opens a box that was moved.
  const box = seal(SOME, place(), KEY, new Nonces(0));
  const decipher = createDecipheriv('aes-256-gcm', KEY, box.subarray(0, 12));
  const plain = decipher.update(box.subarray(12, -16));
  assert.deepEqual([...plain.subarray(16)], [1, 2, 3, 4]);
  decipher.setAuthTag(box.subarray(-16));
  assert.throws(() => decipher.final());
});

test('no two boxes of a block have one nonce, and no two blocks share any', () => {
  const nonceIn = (box: Uint8Array) => Buffer.from(box.subarray(0, 12)).toString('hex');
  const seen = new Set<string>();
  for (const block of [0, 1, 2 ** 32 - 1, 2 ** 32, 2 ** 48 - 1]) {
    const nonces = new Nonces(block);
    for (let i = 0; i < 1000; i++) seen.add(nonceIn(seal(SOME, place(), KEY, nonces)));
  }
  assert.equal(seen.size, 5000);
  assert.throws(() => new Nonces(2 ** 48), /there is no block/);
});

test('two threads that share a block share no nonce', () => {
  const seen = new Set<string>();
  for (const share of ['FirstHalf', 'SecondHalf'] as const) {
    const nonces = new Nonces(7, share);
    for (let i = 0; i < 1000; i++) seen.add(Buffer.from(nonces.next()).toString('hex'));
  }
  assert.equal(seen.size, 2000);
  // The negative control: two that count from the same beginning share all.
  const whole = new Nonces(7);
  for (let i = 0; i < 1000; i++) seen.add(Buffer.from(whole.next()).toString('hex'));
  assert.equal(seen.size, 2000);
});
