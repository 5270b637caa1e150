// Ed25519 (RFC 8032) by WebCrypto, which Node and browsers have: the 32-byte public key of the RFC, and signatures of
// 64 bytes. signer.ts has the other half, with the private key.

import { toHex } from '../bytes.ts';
import { malformed } from '../errors.ts';

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

/** Says of a message and a signature whether the key signed it; bytes that can be no signature did not. */
export type Ed25519Verifier = (message: Uint8Array, signature: Uint8Array) => Promise<boolean>;

export async function ed25519Verifier(publicKey: Uint8Array): Promise<Ed25519Verifier> {
  const { subtle } = globalThis.crypto;
  let key: Awaited<ReturnType<typeof subtle.importKey>>;
  try {
    key = await subtle.importKey('raw', publicKey, 'Ed25519', false, ['verify']);
  } catch (cause) {
    throw malformed('not an Ed25519 public key', cause);
  }
  return async (message, signature) =>
    signature.length === ED25519_SIGNATURE_BYTES && subtle.verify('Ed25519', key, signature, message);
}
