import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { test } from 'node:test';
import { createFakeClock } from '../testing/fake-clock.ts';
import { createSigning } from './signing.ts';
import { macKeyOf, type SigningKey, type SigningKeys } from './signing-keys.ts';

function newKey(): SigningKey {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const info = publicKey.export({ format: 'der', type: 'spki' });
  return { fingerprint: '', privateKey, publicKey: new Uint8Array(info.subarray(-32)), createdAtMs: 0 };
}

test('before there are keys nothing is signed and no record is believed', () => {
  const signing = createSigning(createFakeClock());
  const starting = { code: 'SERVICE_UNAVAILABLE' };
  assert.throws(() => signing.macKeys(), starting);
  assert.throws(() => signing.publicKeys(), starting);
});

test('keys of MACs are made from all keys that ever signed: each has its number for ever', async () => {
  const signing = createSigning(createFakeClock());
  const [first, second, third] = [newKey(), newKey(), newKey()];
  let stored: SigningKeys = [first];
  let found: SigningKeys = stored;
  signing.use({
    keys: () => found,
    async reload() {
      found = stored;
    },
  });
  assert.deepEqual(signing.macKeys(), [macKeyOf(first)]);
  stored = [second, first];
  assert.equal(signing.macKeys().length, 1);
  await signing.reload();
  assert.deepEqual(signing.macKeys(), [macKeyOf(first), macKeyOf(second)]);
  stored = [third, second, first];
  await signing.reload();
  assert.deepEqual(signing.macKeys(), [first, second, third].map(macKeyOf));
  assert.equal(signing.macKeys(), signing.macKeys(), 'they are made once');
});

test('the key of MACs is of the signing key alone, and says nothing of it', () => {
  const [key, other] = [newKey(), newKey()];
  const made = macKeyOf(key);
  assert.equal(made.length, 32);
  assert.deepEqual(macKeyOf({ privateKey: key.privateKey }), made);
  assert.notDeepEqual(macKeyOf(other), made);
  const secret = key.privateKey.export({ format: 'der', type: 'pkcs8' }).subarray(-32);
  assert.notDeepEqual(Buffer.from(made), secret);
});
