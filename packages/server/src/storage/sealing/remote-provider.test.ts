import assert from 'node:assert/strict';
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { test } from 'node:test';
import type { RemoteKey } from '../../keys/remote-key.ts';
import { createSystemRandom } from '../../runtime/random.ts';
import { remoteProvider } from './remote-provider.ts';

const random = createSystemRandom();
const BOUND = { 'tallystick:keyring': 'a', 'tallystick:key': 'b', 'tallystick:place': '0' };

/** A provider in memory, which ignores what it should authenticate. */
function carelessKey(): RemoteKey & { readonly bytesMax: () => number } {
  const key = randomBytes(32);
  const nonce = Buffer.alloc(12);
  let bytesMax = 0;
  return {
    provider: 'Vault',
    bytesMax: () => bytesMax,
    encrypt: async (bytes) => {
      bytesMax = Math.max(bytesMax, bytes.length);
      return createCipheriv('aes-256-ctr', key, Buffer.concat([nonce, Buffer.alloc(4)])).update(bytes);
    },
    decrypt: async (bytes) =>
      createDecipheriv('aes-256-ctr', key, Buffer.concat([nonce, Buffer.alloc(4)])).update(bytes),
  };
}

test('secrets of any size cost the provider 32 bytes', async () => {
  const key = carelessKey();
  const provider = remoteProvider(key, random);
  for (const size of [0, 49, 200_000]) {
    const secrets = random.bytes(size);
    assert.deepEqual(
      new Uint8Array(await provider.open(await provider.seal(secrets, BOUND), BOUND)),
      secrets,
    );
  }
  assert.equal(key.bytesMax(), 32);
});

test('no bit can be changed and no bound word exchanged, even where the provider authenticates nothing', async () => {
  const provider = remoteProvider(carelessKey(), random);
  const sealed = await provider.seal(random.bytes(49), BOUND);
  for (let at = 0; at < sealed.length; at++) {
    const changed = Uint8Array.from(sealed);
    changed[at]! ^= 1 << (at % 8);
    await assert.rejects(provider.open(changed, BOUND), /were altered|are not whole/, `byte ${at}`);
  }
  for (const length of [0, 1, 2, sealed.length - 1])
    await assert.rejects(provider.open(sealed.subarray(0, length), BOUND), /were altered|are not whole/);
  for (const name of Object.keys(BOUND))
    await assert.rejects(
      provider.open(sealed, { ...BOUND, [name]: 'x' }),
      /were altered, or belong to another key of a keyring/,
    );
});
