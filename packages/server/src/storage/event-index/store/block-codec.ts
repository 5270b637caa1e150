// A block as it is stored: compressed, and encrypted where it holds content that must not lie in the clear. Once the tenant has a
// key under the keyring, all blocks are: facts of sealed events are in every section. An encrypted block is bound to its
// place: one that was put elsewhere does not open.

import { createCipheriv, createDecipheriv, createSecretKey, type KeyObject } from 'node:crypto';
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import type { TenantId } from '@tallystick/contract';
import type { Random } from '../../../runtime/random.ts';
import type { Section } from '../segments/terms.ts';
import { hmacSha256 } from '../../../runtime/hmac.ts';

const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** Higher levels take far longer for a little less. The checksum finds what a disk has changed. */
const COMPRESSION = {
  params: { [constants.ZSTD_c_compressionLevel]: 1, [constants.ZSTD_c_checksumFlag]: 1 },
};

/** Before it is compressed: what is larger was not written here, and would fill the memory. */
const RAW_BYTES_MAX = 64 * 1024 * 1024;
const DECOMPRESSION = { maxOutputLength: RAW_BYTES_MAX };

export interface BlockPlace {
  readonly tenant: TenantId;
  readonly segment: number;
  readonly block: number;
  readonly section: Section | undefined;
}

/** Blocks begin with these bytes where they are in the clear; a nonce never does. */
const IN_THE_CLEAR = Buffer.from('28b52ffd', 'hex');

/** Whether the blocks of a section are encrypted for every tenant. */
export function isAlwaysEncrypted(section: Section | undefined): boolean {
  return section === 'Confidential' || section === 'Secret';
}

/** The keys of one tenant. */
export class BlockKeys {
  readonly #secrets: readonly Uint8Array[];
  readonly #keys = new Map<string, readonly KeyObject[]>();
  /** Every block is encrypted. */
  readonly isWhole: boolean;

  /** `sealed` are made of the keys of the tenant under the keyring, the one for new content first; it may have none. */
  constructor(own: Uint8Array, ...sealed: readonly Uint8Array[]) {
    this.#secrets = [...sealed, own];
    this.isWhole = sealed.length > 0;
  }

  /** The first encrypts; what was encrypted before the tenant had that one opens with another. */
  keysOf(section: Section | undefined): readonly KeyObject[] {
    const name = section ?? 'the rest';
    let keys = this.#keys.get(name);
    if (keys === undefined) {
      keys = this.#secrets.map((secret) => createSecretKey(hmacSha256(secret, `index of ${name}`)));
      this.#keys.set(name, keys);
    }
    return keys;
  }
}

/** What a block is encrypted with. */
export interface Encryption {
  readonly keys: BlockKeys;
  readonly random: Random;
}

export function encodeBlock(raw: Buffer, place: BlockPlace, { keys, random }: Encryption): Buffer {
  const compressed = zstdCompressSync(raw, COMPRESSION);
  if (!keys.isWhole && !isAlwaysEncrypted(place.section)) return compressed;
  const nonce = nonceFrom(random);
  const cipher = createCipheriv(CIPHER, keys.keysOf(place.section)[0]!, nonce);
  cipher.setAAD(boundTo(place));
  const body = Buffer.concat([cipher.update(compressed), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), body]);
}

/** Throws for a block that is damaged, or was made for another place. */
export function decodeBlock(stored: Buffer, place: BlockPlace, keys: BlockKeys): Buffer {
  const isClear = stored.subarray(0, IN_THE_CLEAR.length).equals(IN_THE_CLEAR);
  if (isClear && !isAlwaysEncrypted(place.section)) return zstdDecompressSync(stored, DECOMPRESSION);
  const [first, ...others] = keys.keysOf(place.section);
  return zstdDecompressSync(decrypted(stored, place, first!, others), DECOMPRESSION);
}

/** Whether a block is encrypted, and not with what encrypts now: a key that was closed may be destroyed. */
export function isUnderFormerKey(stored: Buffer, place: BlockPlace, keys: BlockKeys): boolean {
  if (stored.subarray(0, IN_THE_CLEAR.length).equals(IN_THE_CLEAR)) return false;
  try {
    decrypted(stored, place, keys.keysOf(place.section)[0]!, []);
    return false;
  } catch {
    return true;
  }
}

function decrypted(stored: Buffer, place: BlockPlace, key: KeyObject, others: readonly KeyObject[]): Buffer {
  const bodyAt = NONCE_BYTES + TAG_BYTES;
  const decipher = createDecipheriv(CIPHER, key, stored.subarray(0, NONCE_BYTES));
  decipher.setAAD(boundTo(place));
  decipher.setAuthTag(stored.subarray(NONCE_BYTES, bodyAt));
  const [next, ...rest] = others;
  try {
    return Buffer.concat([decipher.update(stored.subarray(bodyAt)), decipher.final()]);
  } catch (error) {
    if (next === undefined) throw error;
    return decrypted(stored, place, next, rest);
  }
}

function nonceFrom(random: Random): Uint8Array {
  for (;;) {
    const nonce = random.bytes(NONCE_BYTES);
    if (!IN_THE_CLEAR.equals(nonce.subarray(0, IN_THE_CLEAR.length))) return nonce;
  }
}

function boundTo({ tenant, segment, block, section }: BlockPlace): Buffer {
  return Buffer.from(JSON.stringify([tenant, segment, block, section]));
}
