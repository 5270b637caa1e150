// Seals secrets that callers have stored: a signing secret, a password, a private key. A box is a text, so it lies in a record like
// any other member; it opens for its tenant, its record and its purpose alone, so that one cannot be shown in the place of another.
//
//   box = key id ‖ "." ‖ base64( nonce[12] ‖ AES-256-GCM( text in UTF-8 ) ‖ tag[16] )
//   AAD = RFC 8785 of [ "tallystick:secret", tenant, kind, id, purpose, key id ]
//
// Nonces are random: of the few secrets that a tenant stores under one key, no two get the same. The keys are kept sealed by the
// keyring (SecretKeys), so a box follows each rotation without being made anew, and an erasure of events leaves it.

import { createCipheriv, createDecipheriv, createSecretKey, type KeyObject } from 'node:crypto';
import type { TenantId } from '@tallystick/contract';
import { canonicalJson, fromBase64, toBase64 } from '@tallystick/evidence';
import type { RecordKind } from '../records/records.ts';
import type { Random } from '../runtime/random.ts';

export interface SecretKey {
  readonly keyId: string;
  readonly key: Uint8Array;
}

/** The port to the keys that seal secrets. The tenant must exist. */
export interface SecretKeys {
  /** The one that seals what is new, made where there is none. */
  current(tenant: TenantId): Promise<SecretKey>;
  find(tenant: TenantId, keyId: string): Promise<SecretKey | undefined>;
}

/** What a box is for. */
export interface SecretPlace {
  readonly tenant: TenantId;
  readonly kind: RecordKind | 'Violation';
  readonly id: string;
  readonly purpose: string;
}

export interface SecretBoxes {
  seal(text: string, place: SecretPlace): Promise<string>;
  /** Throws ClosedBox for one that was altered, or was made for another place, or whose key is gone. */
  open(box: string, place: SecretPlace): Promise<string>;
}

export class ClosedBox extends Error {}

const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const BOX = /^([0-7][0-9A-HJKMNP-TV-Z]{25})\.([A-Za-z0-9+/=]+)$/;
const KEYS_KEPT_MAX = 1000;

export function createSecretBoxes(keys: SecretKeys, random: Random): SecretBoxes {
  /** Keys never change. */
  const kept = new Map<string, KeyObject>();
  const keyOf = async (tenant: TenantId, keyId: string): Promise<KeyObject | undefined> => {
    const name = `${tenant} ${keyId}`;
    const known = kept.get(name);
    if (known !== undefined) return known;
    const found = await keys.find(tenant, keyId);
    if (found === undefined) return undefined;
    const key = createSecretKey(found.key);
    if (kept.size >= KEYS_KEPT_MAX) kept.clear();
    kept.set(name, key);
    return key;
  };
  return {
    async seal(text, place) {
      const { keyId, key } = await keys.current(place.tenant);
      const nonce = random.bytes(NONCE_BYTES);
      const cipher = createCipheriv(CIPHER, key, nonce);
      cipher.setAAD(boundTo(place, keyId));
      const sealed = [nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()];
      return `${keyId}.${toBase64(Buffer.concat(sealed))}`;
    },
    async open(box, place) {
      const [, keyId = '', sealed = ''] = BOX.exec(box) ?? [];
      const key = keyId === '' ? undefined : await keyOf(place.tenant, keyId);
      const text = key && opened(sealed, key, boundTo(place, keyId));
      if (text !== undefined) return text;
      const { kind, id, purpose } = place;
      throw new ClosedBox(`the ${purpose} of the ${kind} ${id} does not open with the keyring`);
    },
  };
}

function opened(sealed: string, key: KeyObject, aad: Buffer): string | undefined {
  try {
    const bytes = fromBase64(sealed);
    const tagAt = bytes.length - TAG_BYTES;
    const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, NONCE_BYTES));
    decipher.setAAD(aad);
    decipher.setAuthTag(bytes.subarray(tagAt));
    const text = decipher.update(bytes.subarray(NONCE_BYTES, tagAt));
    return Buffer.concat([text, decipher.final()]).toString('utf8');
  } catch {
    return undefined;
  }
}

function boundTo({ tenant, kind, id, purpose }: SecretPlace, keyId: string): Buffer {
  return Buffer.from(canonicalJson(['tallystick:secret', tenant, kind, id, purpose, keyId]));
}
