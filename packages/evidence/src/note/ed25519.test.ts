import assert from 'node:assert/strict';
import { test } from 'node:test';
import { concat, utf8 } from '../bytes.ts';
import { fromHex } from '../hash/from-hex.ts';
import { sha256 } from '../hash/sha256.ts';
import { refusal } from '../testing/refusal.ts';
import { ed25519Key } from './signer.ts';
import { ed25519Verifier, isPublicKey } from './ed25519.ts';

// RFC 8032, section 7.1, test 3.
const SEED = fromHex('c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7');
const PUBLIC_KEY = fromHex('fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025');
const MESSAGE = fromHex('af82');
const SIGNATURE = fromHex(
  '6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a',
);

test('signs and verifies as the RFC says', async () => {
  const { publicKey, sign } = await ed25519Key(SEED);
  assert.deepEqual([publicKey, await sign(MESSAGE)], [PUBLIC_KEY, SIGNATURE]);
  const verify = await ed25519Verifier(PUBLIC_KEY);
  assert.equal(await verify(MESSAGE, SIGNATURE), true);
  assert.equal(await verify(utf8('another'), SIGNATURE), false);
  assert.equal(await verify(MESSAGE, SIGNATURE.with(0, 0)), false);
});

test('makes the public key of any seed, with any characters in its text form', async () => {
  for (let n = 0; n < 40; n++) {
    const { publicKey, sign } = await ed25519Key(sha256(utf8(`seed ${n}`)));
    assert.ok(isPublicKey(publicKey));
    assert.equal(await (await ed25519Verifier(publicKey))(MESSAGE, await sign(MESSAGE)), true);
  }
});

test('bytes of another length are no signature, no seed and no key', async () => {
  const verify = await ed25519Verifier(PUBLIC_KEY);
  for (const other of [new Uint8Array(), SIGNATURE.subarray(1), concat(SIGNATURE, Uint8Array.of(0))]) {
    assert.equal(await verify(MESSAGE, other), false);
  }
  for (const other of [SEED.subarray(1), concat(SEED, Uint8Array.of(0))]) {
    await assert.rejects(ed25519Key(other), refusal('MALFORMED'));
  }
  for (const other of [PUBLIC_KEY.subarray(1), concat(PUBLIC_KEY, Uint8Array.of(0))]) {
    assert.equal(isPublicKey(other), false);
    await assert.rejects(ed25519Verifier(other), refusal('MALFORMED'));
  }
  assert.equal(isPublicKey(PUBLIC_KEY), true);
});

test('the largest y that is its only spelling is that of p - 2', () => {
  // p - 1 is of small order, p and more are second spellings.
  const y = (last: number): Uint8Array => Uint8Array.from([last, ...new Uint8Array(30).fill(0xff), 0x7f]);
  assert.equal(isPublicKey(y(0xeb)), true);
  assert.equal(isPublicKey(y(0xeb).with(31, 0xff)), true);
  for (const last of [0xec, 0xed, 0xee, 0xff]) assert.equal(isPublicKey(y(last)), false);
});
