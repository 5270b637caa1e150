// The keyring: the keys over all keys, kept outside the database. Each is a tree of secrets (key-tree.ts), with one branch for
// every tenant key and one for every month of expiry. A content key opens only with the secrets of both, so that destroying
// either in the keyring reaches every copy of the database, however old.
//
//   envelope = id of the ring key[8] ‖ u32 class ‖ nonce[12] ‖ AES-256-GCM( key[32] ) ‖ tag[16]           72 bytes
//   AAD      = JSON [ tenant, purpose, key id, class ]
//   sealed with: a tenant key  the secret at 0 ‖ the first 64 bits of SHA-256( key id ); so also a key of stored secrets
//                a content key HMAC-SHA256( tenant key, "content" ‖ the secret at 1 ‖ 20 bits of the month )
//
// The provider of the keyring (keyring-file.ts) is asked at the start and when a key is added, and never for an event.

import { BroadcastChannel } from 'node:worker_threads';
import { createCipheriv, createDecipheriv, createHash, createSecretKey } from 'node:crypto';
import type { TenantId } from '@tallystick/contract';
import { fromHex, toHex } from '@tallystick/evidence';
import type { Random } from '../../runtime/random.ts';
import { bitsOf, type KeyTree, secretAt } from './key-tree.ts';
import { hmacSha256 } from '../../runtime/hmac.ts';

export interface RingKey {
  /** 16 hex digits. */
  readonly id: string;
  readonly createdAtMs: number;
  readonly tree: KeyTree;
}

/** Can be sent to threads. */
export interface RingData {
  /** Where it is kept; what tells threads of one place of changes. */
  readonly place: string;
  /** The newest one last: it seals what is new. */
  readonly keys: readonly RingKey[];
}

/** Over content keys; for the content of events; for secrets that callers have stored. */
export type KeyPurpose = 'Tenant' | 'Content' | 'Secret';

export interface KeyName {
  readonly tenant: TenantId;
  readonly purpose: KeyPurpose;
  readonly keyId: string;
  /** Of content: the month of its expiry, as rows/content-month.ts counts; else 0. */
  readonly month: number;
}

export const KEY_BYTES = 32;
export const RING_ID_BYTES = 8;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const MONTH_AT = RING_ID_BYTES;
const NONCE_AT = MONTH_AT + 4;
const BODY_AT = NONCE_AT + NONCE_BYTES;
const TAG_AT = BODY_AT + KEY_BYTES;
export const ENVELOPE_BYTES = TAG_AT + TAG_BYTES;
const CIPHER = 'aes-256-gcm';
const MONTH_BITS = 20;
const NAME_BITS = 64;
const NAMES: Readonly<Record<KeyPurpose, string>> = { Tenant: 'tenant', Content: 'data', Secret: 'secrets' };

/** A key that is destroyed, or is not what was stored. */
export class UnusableKey extends Error {}

/** A row names a key that this process does not have: that may be no fault of the row. */
export class UnknownRingKey extends UnusableKey {
  constructor(id: string, place: string) {
    super(`the keyring ${place} has no key ${id}`);
    this.name = 'UnknownRingKey';
  }
}

export class Keyring implements Disposable {
  #data: RingData;
  readonly #news: BroadcastChannel;

  constructor(data: RingData) {
    this.#data = data;
    this.#news = new BroadcastChannel(channelOf(data.place));
    this.#news.addEventListener('message', (message) => {
      this.#data = (message as unknown as { readonly data: RingData }).data;
    });
    // It keeps no process alive.
    this.#news.unref();
  }

  get data(): RingData {
    return this.#data;
  }

  get newest(): RingKey {
    return this.#data.keys.at(-1)!;
  }

  /** For this thread and all others of this process. */
  become(data: RingData): void {
    this.#data = data;
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel between threads has none
    this.#news.postMessage(data);
  }

  /** The key of a content is sealed with the key of its tenant, too. */
  seal(key: Uint8Array, name: KeyName, random: Random, tenantKey?: Uint8Array): Uint8Array {
    const { id, tree } = this.newest;
    const secret = secretFor(tree, name, tenantKey);
    if (secret === undefined) throw new UnusableKey(`the keyring has no secret for the month ${name.month}`);
    const envelope = new Uint8Array(ENVELOPE_BYTES);
    envelope.set(fromHex(id), 0);
    new DataView(envelope.buffer).setUint32(MONTH_AT, name.month);
    envelope.set(random.bytes(NONCE_BYTES), NONCE_AT);
    const cipher = createCipheriv(CIPHER, createSecretKey(secret), envelope.subarray(NONCE_AT, BODY_AT));
    cipher.setAAD(boundTo(name));
    envelope.set(cipher.update(key), BODY_AT);
    cipher.final();
    envelope.set(cipher.getAuthTag(), TAG_AT);
    return envelope;
  }

  /** Throws UnknownRingKey, and UnusableKey for one that is destroyed or was altered. */
  open(envelope: Uint8Array, name: Omit<KeyName, 'month'>, tenantKey?: Uint8Array): Uint8Array {
    const named = `the ${NAMES[name.purpose]} key ${name.keyId}`;
    if (envelope.length === 0) throw new UnusableKey(`${named} is destroyed`);
    if (envelope.length !== ENVELOPE_BYTES) throw new UnusableKey(`${named} is not what was stored`);
    const id = ringKeyIn(envelope);
    const ringKey = this.#data.keys.find((each) => each.id === id);
    if (ringKey === undefined) throw new UnknownRingKey(id, this.#data.place);
    const month = monthIn(envelope);
    const secret = secretFor(ringKey.tree, { ...name, month }, tenantKey);
    if (secret === undefined) throw new UnusableKey(`${named} is destroyed`);
    try {
      const decipher = createDecipheriv(
        CIPHER,
        createSecretKey(secret),
        envelope.subarray(NONCE_AT, BODY_AT),
      );
      decipher.setAAD(boundTo({ ...name, month }));
      decipher.setAuthTag(envelope.subarray(TAG_AT));
      const key = decipher.update(envelope.subarray(BODY_AT, TAG_AT));
      decipher.final();
      return key;
    } catch (cause) {
      throw new UnusableKey(`${named} is not what was stored`, { cause });
    }
  }

  [Symbol.dispose](): void {
    this.#news.close();
  }
}

export function ringKeyIn(envelope: Uint8Array): string {
  return toHex(envelope.subarray(0, RING_ID_BYTES));
}

export function monthIn(envelope: Uint8Array): number {
  return new DataView(envelope.buffer, envelope.byteOffset).getUint32(MONTH_AT);
}

/** The branch of a tenant key, or of a key of secrets. */
export function tenantBranch(keyId: string): string {
  return `0${bitsOf(createHash('sha256').update(keyId).digest(), NAME_BITS)}`;
}

/** The branch of all content that expires in a month. */
export function monthBranch(month: number): string {
  return `1${month.toString(2).padStart(MONTH_BITS, '0')}`;
}

function secretFor(tree: KeyTree, name: KeyName, tenantKey: Uint8Array | undefined): Uint8Array | undefined {
  if (name.purpose !== 'Content') return secretAt(tree, tenantBranch(name.keyId));
  const ofMonth = secretAt(tree, monthBranch(name.month));
  if (ofMonth === undefined || tenantKey === undefined) return undefined;
  return hmacSha256(tenantKey, 'content', ofMonth);
}

function boundTo({ tenant, purpose, keyId, month }: KeyName): Buffer {
  return Buffer.from(JSON.stringify([tenant, purpose, keyId, month]));
}

function channelOf(place: string): string {
  return `tallystick keyring ${place}`;
}
