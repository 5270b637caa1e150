// Ed25519 (RFC 8032) by WebCrypto, which Node and browsers have. Keys are the 32-byte seed and the 32-byte
// public key of the RFC, signatures its 64 bytes.

import { concat, fromBase64, toHex } from '../bytes.ts';
import { EvidenceError } from '../errors.ts';

export const SEED_BYTES = 32;
export const PUBLIC_KEY_BYTES = 32;
export const ED25519_SIGNATURE_BYTES = 64;

/**
 * The y of the eight points of small order, each of which has one or two of them: little-endian, without the bit that
 * tells the two apart. For a key that is one of these, signatures can be made without a private key.
 */
const SMALL_ORDER_Y = [
  '0000000000000000000000000000000000000000000000000000000000000000',
  '0100000000000000000000000000000000000000000000000000000000000000',
  'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
];
/** 2^255 - 19: a y that is not below it is a second spelling of one that is. */
const FIELD_PRIME = 2n ** 255n - 19n;

/** Whether the bytes can be the public key of one who has the private key: they are its only spelling, and no point of small order. */
export function isPublicKey(bytes: Uint8Array): boolean {
  if (bytes.length !== PUBLIC_KEY_BYTES) return false;
  const y = bytes.with(PUBLIC_KEY_BYTES - 1, bytes[PUBLIC_KEY_BYTES - 1]! & 0x7f);
  return BigInt(`0x${toHex(y.toReversed())}`) < FIELD_PRIME && !SMALL_ORDER_Y.includes(toHex(y));
}

export interface Ed25519Key {
  readonly publicKey: Uint8Array;
  readonly sign: (message: Uint8Array) => Promise<Uint8Array>;
}

/** RFC 8410: PrivateKeyInfo, version 0, algorithm 1.3.101.112, then the seed as an octet string twice over. */
const PKCS8_PREFIX = Uint8Array.of(0x30, 46, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 101, 112, 4, 34, 4, 32);

export async function ed25519Key(seed: Uint8Array): Promise<Ed25519Key> {
  if (seed.length !== SEED_BYTES) {
    throw new EvidenceError('MALFORMED', `key seed is ${seed.length} bytes, not ${SEED_BYTES}`);
  }
  const { subtle } = globalThis.crypto;
  const pkcs8 = concat(PKCS8_PREFIX, seed);
  // WebCrypto has no way from a private key to its public one but this text form, "x" in base64url.
  const readable = await subtle.exportKey(
    'jwk',
    await subtle.importKey('pkcs8', pkcs8, 'Ed25519', true, ['sign']),
  );
  const publicKey = fromBase64(`${readable.x!.replaceAll('-', '+').replaceAll('_', '/')}=`);
  const key = await subtle.importKey('pkcs8', pkcs8, 'Ed25519', false, ['sign']);
  return {
    publicKey,
    sign: async (message) => new Uint8Array(await subtle.sign('Ed25519', key, message)),
  };
}

/** Says of a message and a signature whether the key signed it; bytes that can be no signature did not. */
export async function ed25519Verifier(
  publicKey: Uint8Array,
): Promise<(message: Uint8Array, signature: Uint8Array) => Promise<boolean>> {
  const { subtle } = globalThis.crypto;
  let key: Awaited<ReturnType<typeof subtle.importKey>>;
  try {
    key = await subtle.importKey('raw', publicKey, 'Ed25519', false, ['verify']);
  } catch (cause) {
    throw new EvidenceError('MALFORMED', 'not an Ed25519 public key', { cause });
  }
  return async (message, signature) =>
    signature.length === ED25519_SIGNATURE_BYTES && subtle.verify('Ed25519', key, signature, message);
}
