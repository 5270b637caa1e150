// What a content is stored as once it is sealed: one box, in the column of its first text. The others are empty.
//
//   box   = nonce[12] ‖ AES-256-GCM( u32 lengths of the four ‖ text1 ‖ text2 ‖ seeds ‖ closed ) ‖ tag[16]
//   nonce = u48 block ‖ u48 number within it
//   AAD   = event id[16] ‖ tenant
//
// A box that lies in another row, of another tenant or in another column does not open. No nonce is used twice under a key: a
// process takes a block from the row of the key and has it stored before it uses it, and counts within it. A crash
// wastes the rest of a block.

import { createCipheriv, createDecipheriv, type KeyObject } from 'node:crypto';
import type { TenantId } from '@tallystick/contract';

export interface BoxedContent {
  readonly text1: Uint8Array;
  readonly text2: Uint8Array;
  readonly seeds: Uint8Array;
  /** What deleted units leave; undefined for a whole content. */
  readonly closed: Uint8Array | undefined;
}

/** What a box is for. */
export interface BoxPlace {
  readonly tenant: TenantId;
  /** 16 bytes. */
  readonly eventId: Uint8Array;
}

const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const LENGTHS_BYTES = 16;
const EVENT_ID_BYTES = 16;
/** Enough for most events. */
const BYTES_AT_FIRST = 16 * 1024;
const NUMBERS = 2 ** 32;

/** The nonces of one block. */
export class Nonces {
  readonly #bytes = new Uint8Array(NONCE_BYTES);
  readonly #view = new DataView(this.#bytes.buffer);
  #next = 0;

  constructor(block: number) {
    if (!Number.isSafeInteger(block) || block < 0 || block >= 2 ** 48)
      throw new RangeError(`there is no block ${block} of nonces`);
    this.#view.setUint16(0, Math.floor(block / NUMBERS));
    this.#view.setUint32(2, block % NUMBERS);
  }

  /** The same bytes each time, changed. */
  next(): Uint8Array {
    if (this.#next >= 2 ** 48) throw new RangeError('a block of nonces is used up');
    this.#view.setUint16(6, Math.floor(this.#next / NUMBERS));
    this.#view.setUint32(8, this.#next % NUMBERS);
    this.#next++;
    return this.#bytes;
  }
}

/**
 * Makes one box after the other in memory that it uses again: what is kept must be copied. With memory of its own for each box,
 * a small one would cost as much again as the sealing does.
 */
export class BoxMaker {
  #box = new Uint8Array(BYTES_AT_FIRST);
  #view = new DataView(this.#box.buffer);
  #bound: Uint8Array = new Uint8Array(EVENT_ID_BYTES);
  /** Whose name is in `#bound`. */
  #tenant: TenantId | undefined;

  make(content: BoxedContent, place: BoxPlace, key: KeyObject, nonces: Nonces): Uint8Array {
    const tagAt = this.#lineUp(content);
    const nonce = nonces.next();
    const cipher = createCipheriv(CIPHER, key, nonce);
    cipher.setAAD(this.#boundTo(place));
    const sealed = cipher.update(this.#box.subarray(NONCE_BYTES, tagAt));
    cipher.final();
    this.#box.set(nonce, 0);
    this.#box.set(sealed, NONCE_BYTES);
    this.#box.set(cipher.getAuthTag(), tagAt);
    return this.#box.subarray(0, tagAt + TAG_BYTES);
  }

  /** Where the sealed bytes will lie; returns where they end. */
  #lineUp({ text1, text2, seeds, closed }: BoxedContent): number {
    const closedBytes = closed?.length ?? 0;
    const from = NONCE_BYTES + LENGTHS_BYTES;
    const tagAt = from + text1.length + text2.length + seeds.length + closedBytes;
    if (tagAt + TAG_BYTES > this.#box.length) {
      this.#box = new Uint8Array(2 * (tagAt + TAG_BYTES));
      this.#view = new DataView(this.#box.buffer);
    }
    this.#view.setUint32(NONCE_BYTES, text1.length);
    this.#view.setUint32(NONCE_BYTES + 4, text2.length);
    this.#view.setUint32(NONCE_BYTES + 8, seeds.length);
    this.#view.setUint32(NONCE_BYTES + 12, closedBytes);
    this.#box.set(text1, from);
    this.#box.set(text2, from + text1.length);
    this.#box.set(seeds, from + text1.length + text2.length);
    if (closed !== undefined) this.#box.set(closed, tagAt - closedBytes);
    return tagAt;
  }

  #boundTo({ tenant, eventId }: BoxPlace): Uint8Array {
    if (tenant !== this.#tenant) {
      this.#bound = boundTo({ tenant, eventId });
      this.#tenant = tenant;
    }
    this.#bound.set(eventId, 0);
    return this.#bound;
  }
}

/** Undefined for a box that was altered, or was made for another place or with another key. */
export function openBox(box: Uint8Array, place: BoxPlace, key: KeyObject): BoxedContent | undefined {
  const tagAt = box.length - TAG_BYTES;
  if (tagAt < NONCE_BYTES + LENGTHS_BYTES) return undefined;
  let plain: Buffer;
  try {
    const decipher = createDecipheriv(CIPHER, key, box.subarray(0, NONCE_BYTES));
    decipher.setAAD(boundTo(place));
    decipher.setAuthTag(box.subarray(tagAt));
    plain = decipher.update(box.subarray(NONCE_BYTES, tagAt));
    decipher.final();
  } catch {
    return undefined;
  }
  let at = LENGTHS_BYTES;
  const part = (i: number) => {
    const from = at;
    at += plain.readUInt32BE(4 * i);
    return new Uint8Array(
      plain.buffer,
      plain.byteOffset + from,
      Math.max(0, Math.min(at, plain.length) - from),
    );
  };
  const [text1, text2, seeds, closed] = [part(0), part(1), part(2), part(3)];
  return at === plain.length
    ? { text1, text2, seeds, closed: closed.length === 0 ? undefined : closed }
    : undefined;
}

function boundTo({ tenant, eventId }: BoxPlace): Buffer {
  return Buffer.concat([eventId, Buffer.from(tenant)]);
}
