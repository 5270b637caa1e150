// Providers of the keyring whose key never leaves them. They encrypt few bytes (AWS KMS 4096), and a keyring in which a lot was
// destroyed is larger: so the secrets are sealed with a data key of their own, and that one is encrypted by the provider.
//
//   sealed = u16 length ‖ data key as the provider encrypts it ‖ nonce[12] ‖ AES-256-GCM( secrets ) ‖ tag[16]
//   AAD    = JSON of what they are bound to; the provider authenticates the same for the data key

import { createCipheriv, createDecipheriv } from 'node:crypto';
import type { BoundTo, RemoteKey } from '../../keys/remote-key.ts';
import type { Random } from '../../runtime/random.ts';
import type { KeyringProvider } from './keyring-file.ts';

const CIPHER = 'aes-256-gcm';
const KEY_BYTES = 32;
const LENGTH_BYTES = 2;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

export function remoteProvider(key: RemoteKey, random: Random): KeyringProvider {
  return {
    name: key.provider,
    async seal(secrets, boundTo) {
      const dataKey = random.bytes(KEY_BYTES);
      const encrypted = await key.encrypt(dataKey, boundTo);
      const nonce = random.bytes(NONCE_BYTES);
      const cipher = createCipheriv(CIPHER, dataKey, nonce);
      cipher.setAAD(aadOf(boundTo));
      const length = Buffer.alloc(LENGTH_BYTES);
      length.writeUInt16BE(encrypted.length);
      const body = [cipher.update(secrets), cipher.final()];
      return Buffer.concat([length, encrypted, nonce, ...body, cipher.getAuthTag()]);
    },
    async open(sealed, boundTo) {
      const { encrypted, nonce, body, tag } = partsOf(sealed);
      const dataKey = await key.decrypt(encrypted, boundTo);
      try {
        const decipher = createDecipheriv(CIPHER, dataKey, nonce);
        decipher.setAAD(aadOf(boundTo));
        decipher.setAuthTag(tag);
        // In memory of their own, since they are sent to threads.
        return new Uint8Array(Buffer.concat([decipher.update(body), decipher.final()]));
      } catch (cause) {
        throw new Error('its secrets were altered, or belong to another key of a keyring', { cause });
      }
    },
  };
}

function partsOf(sealed: Uint8Array) {
  const bytes = Buffer.from(sealed);
  const keyEnd = LENGTH_BYTES + (bytes.length < LENGTH_BYTES ? 0 : bytes.readUInt16BE());
  const nonceEnd = keyEnd + NONCE_BYTES;
  const tagAt = bytes.length - TAG_BYTES;
  if (tagAt < nonceEnd) throw new Error('its secrets are not whole');
  return {
    encrypted: bytes.subarray(LENGTH_BYTES, keyEnd),
    nonce: bytes.subarray(keyEnd, nonceEnd),
    body: bytes.subarray(nonceEnd, tagAt),
    tag: bytes.subarray(tagAt),
  };
}

function aadOf(boundTo: BoundTo): Buffer {
  return Buffer.from(JSON.stringify(Object.entries(boundTo)));
}
