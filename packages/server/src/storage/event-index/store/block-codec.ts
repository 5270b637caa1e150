// A block as it is stored: compressed, and encrypted where it holds content that must not lie in the clear. An encrypted block is
// bound to its place: one that was put elsewhere does not open.

import { createCipheriv, createDecipheriv, createHmac } from 'node:crypto';
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import type { TenantId } from '@tallystick/contract';
import type { Random } from '../../../runtime/random.ts';
import type { Section } from '../segments/terms.ts';

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

export type EncryptedSection = 'Confidential' | 'Secret';

/** Undefined where the blocks of a section are stored in the clear. */
export function encryptedSection(section: Section | undefined): EncryptedSection | undefined {
  return section === 'Confidential' || section === 'Secret' ? section : undefined;
}

/** The keys of one tenant. */
export class BlockKeys {
  readonly #secret: Uint8Array;
  readonly #keys = new Map<EncryptedSection, Buffer>();

  constructor(secret: Uint8Array) {
    this.#secret = secret;
  }

  keyOf(section: EncryptedSection): Buffer {
    let key = this.#keys.get(section);
    if (key === undefined) {
      key = createHmac('sha256', this.#secret).update(`index of ${section}`).digest();
      this.#keys.set(section, key);
    }
    return key;
  }
}

/** What a block is encrypted with. */
export interface Encryption {
  readonly keys: BlockKeys;
  readonly random: Random;
}

export function encodeBlock(raw: Buffer, place: BlockPlace, { keys, random }: Encryption): Buffer {
  const compressed = zstdCompressSync(raw, COMPRESSION);
  const encrypted = encryptedSection(place.section);
  if (encrypted === undefined) return compressed;
  const nonce = random.bytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, keys.keyOf(encrypted), nonce);
  cipher.setAAD(boundTo(place));
  const body = Buffer.concat([cipher.update(compressed), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), body]);
}

/** Throws for a block that is damaged, or was made for another place. */
export function decodeBlock(stored: Buffer, place: BlockPlace, keys: BlockKeys): Buffer {
  const encrypted = encryptedSection(place.section);
  if (encrypted === undefined) return zstdDecompressSync(stored, DECOMPRESSION);
  const bodyAt = NONCE_BYTES + TAG_BYTES;
  const decipher = createDecipheriv(CIPHER, keys.keyOf(encrypted), stored.subarray(0, NONCE_BYTES));
  decipher.setAAD(boundTo(place));
  decipher.setAuthTag(stored.subarray(NONCE_BYTES, bodyAt));
  const compressed = Buffer.concat([decipher.update(stored.subarray(bodyAt)), decipher.final()]);
  return zstdDecompressSync(compressed, DECOMPRESSION);
}

function boundTo({ tenant, segment, block, section }: BlockPlace): Buffer {
  return Buffer.from(JSON.stringify([tenant, segment, block, section]));
}
