// Verifier keys (c2sp.org/signed-note): how a public key is written, and what a signature calls it by.
//
//   <name>+<key id>+<base64 of: signature type ‖ public key>
//   key id = SHA-256( name ‖ 0x0A ‖ signature type ‖ public key )[:4], as 8 lowercase hexadecimal digits
//
// Two signature types are known, both Ed25519 with 32-byte public keys: 0x01 signs a note (note.ts), 0x04
// cosigns a checkpoint (cosignature.ts). Public keys of small order, and second spellings of others, are refused:
// anybody could sign for those, or show one key as two. A name is not empty and has no space, no + and no control character.

import { concat, fromBase64, toBase64, toHex, utf8 } from '../bytes.ts';
import { isPublicKey, PUBLIC_KEY_BYTES } from './ed25519.ts';
import { malformed } from '../errors.ts';
import { sha256 } from '../hash/sha256.ts';

export const SIGNATURE_TYPES = { note: 0x01, cosignature: 0x04 } as const;

export type SignatureType = (typeof SIGNATURE_TYPES)[keyof typeof SIGNATURE_TYPES];

export interface VerifierKey {
  readonly name: string;
  readonly type: SignatureType;
  readonly publicKey: Uint8Array;
}

export const KEY_ID_BYTES = 4;

/** Short on purpose: it finds a key, it does not vouch for one. */
export function keyIdOf({ name, type, publicKey }: VerifierKey): string {
  requireKeyName(name);
  if (publicKey.length !== PUBLIC_KEY_BYTES)
    throw malformed(`public key is ${publicKey.length} bytes, not ${PUBLIC_KEY_BYTES}`);
  return toHex(sha256(utf8(`${name}\n`), Uint8Array.of(type), publicKey).subarray(0, KEY_ID_BYTES));
}

export function formatVerifierKey(key: VerifierKey): string {
  return `${key.name}+${keyIdOf(key)}+${toBase64(concat(Uint8Array.of(key.type), key.publicKey))}`;
}

export function parseVerifierKey(text: string): VerifierKey {
  // Base64 may have a + of its own; a name and a key id may not.
  const [, name, id, material] = /^([^+]*)\+([^+]*)\+([^]*)$/.exec(text) ?? [];
  if (name === undefined || id === undefined || material === undefined)
    throw malformed('verifier key has not the form name+id+key');
  const bytes = fromBase64(material);
  const type = bytes[0];
  if (type !== SIGNATURE_TYPES.note && type !== SIGNATURE_TYPES.cosignature)
    throw malformed(`verifier key is of type ${type ?? 'none'}; 1 and 4 are known`);
  const key = { name, type, publicKey: bytes.subarray(1) };
  // A key that cannot be written, such as one with an invalid name, is refused there.
  if (formatVerifierKey(key) !== text)
    throw malformed(`verifier key has the id ${id}, its key gives ${keyIdOf(key)}`);
  if (!isPublicKey(key.publicKey))
    throw malformed('verifier key is one that anybody can sign for, or not its only spelling');
  return key;
}

export function requireKeyName(name: string): void {
  // oxlint-disable-next-line no-control-regex -- they are what is looked for
  if (name === '' || !name.isWellFormed() || /[+\u0000-\u001f]|\p{White_Space}/u.test(name))
    throw malformed(`not a key name: ${JSON.stringify(name.slice(0, 80))}`);
}
