// What a content is stored as once it is sealed: one box, in the column of its first text. The others are empty.
//
//   box   = nonce[12] ‖ AES-256-GCM( u32 lengths of the four ‖ text1 ‖ text2 ‖ seeds ‖ closed ) ‖ tag[16]
//   nonce = u48 block ‖ u48 number within it
//   AAD   = event id[16] ‖ tenant
//
// A box that lies in another row, of another tenant or in another column does not open. No nonce is used twice under a key: a
// process takes a block from the row of the key and has it stored before it uses it, and counts within it: the writer in
// the first half, the thread that seals ahead of it (boxes-ahead.ts) in the second. A crash wastes the rest of a block.

import { createCipheriv, createDecipheriv, type KeyObject } from 'node:crypto';
import type { TenantId } from '@tallystick/contract';

export interface BoxedContent {
  readonly text1: Uint8Array;
  readonly text2: Uint8Array;
  readonly seeds: Uint8Array;
  /** What deleted units leave; undefined for a whole content. */
  readonly closed: Uint8Array | undefined;
}

export type BoxedTexts = Readonly<Record<'text1' | 'text2', string>>;

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
/** What a box has more than the four in it. */
export const BOX_BYTES_BESIDE = NONCE_BYTES + LENGTHS_BYTES + TAG_BYTES;
const EVENT_ID_BYTES = 16;
/** Enough for most events. */
const BYTES_AT_FIRST = 16 * 1024;
const NUMBERS = 2 ** 32;
const NONCES_OF_BLOCK = 2 ** 48;

/** One block may serve two threads, each of which has its half. */
export type NonceShare = 'Whole' | 'FirstHalf' | 'SecondHalf';

/** The nonces of one block, or of a half of it. */
export class Nonces {
  readonly #bytes = new Uint8Array(NONCE_BYTES);
  readonly #view = new DataView(this.#bytes.buffer);
  readonly #end: number;
  #next: number;

  constructor(block: number, share: NonceShare = 'Whole') {
    if (!Number.isSafeInteger(block) || block < 0 || block >= NONCES_OF_BLOCK)
      throw new RangeError(`there is no block ${block} of nonces`);
    this.#next = share === 'SecondHalf' ? NONCES_OF_BLOCK / 2 : 0;
    this.#end = share === 'FirstHalf' ? NONCES_OF_BLOCK / 2 : NONCES_OF_BLOCK;
    this.#view.setUint16(0, Math.floor(block / NUMBERS));
    this.#view.setUint32(2, block % NUMBERS);
  }

  /** The same bytes each time, changed. */
  next(): Uint8Array {
    if (this.#next >= this.#end) throw new RangeError('a block of nonces is used up');
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
  readonly #places = new BoundPlaces();

  make(content: BoxedContent, place: BoxPlace, key: KeyObject, nonces: Nonces): Uint8Array {
    const tagAt = this.#lineUp(content);
    const nonce = nonces.next();
    const cipher = createCipheriv(CIPHER, key, nonce);
    cipher.setAAD(this.#places.bound(place));
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
}

/** Opens boxes: undefined for one that was altered, or was made for another place or with another key. */
export class BoxOpener {
  readonly #places = new BoundPlaces();

  open(box: Uint8Array, place: BoxPlace, key: KeyObject): BoxedContent | undefined {
    const plain = this.#plainOf(box, place, key);
    const ends = plain && endsIn(plain);
    if (ends === undefined) return undefined;
    const part = (from: number, end: number) =>
      new Uint8Array(plain!.buffer, plain!.byteOffset + from, end - from);
    const [text1, text2, seeds, closed] = ends;
    return {
      text1: part(LENGTHS_BYTES, text1),
      text2: part(text1, text2),
      seeds: part(text2, seeds),
      closed: seeds === closed ? undefined : part(seeds, closed),
    };
  }

  /** For who reads many: bytes that are no text are replaced. */
  openTexts(box: Uint8Array, place: BoxPlace, key: KeyObject): BoxedTexts | undefined {
    const plain = this.#plainOf(box, place, key);
    const ends = plain && endsIn(plain);
    if (ends === undefined) return undefined;
    const [text1, text2] = ends;
    return {
      text1: plain!.toString('utf8', LENGTHS_BYTES, text1),
      text2: plain!.toString('utf8', text1, text2),
    };
  }

  #plainOf(box: Uint8Array, place: BoxPlace, key: KeyObject): Buffer | undefined {
    const tagAt = box.length - TAG_BYTES;
    if (tagAt < NONCE_BYTES + LENGTHS_BYTES) return undefined;
    try {
      const decipher = createDecipheriv(CIPHER, key, box.subarray(0, NONCE_BYTES));
      decipher.setAAD(this.#places.bound(place));
      decipher.setAuthTag(box.subarray(tagAt));
      const plain = decipher.update(box.subarray(NONCE_BYTES, tagAt));
      decipher.final();
      return plain;
    } catch {
      return undefined;
    }
  }
}

/** Where each of the four ends. */
function endsIn(plain: Buffer): readonly [number, number, number, number] | undefined {
  const text1 = LENGTHS_BYTES + plain.readUInt32BE(0);
  const text2 = text1 + plain.readUInt32BE(4);
  const seeds = text2 + plain.readUInt32BE(8);
  const closed = seeds + plain.readUInt32BE(12);
  return closed === plain.length ? [text1, text2, seeds, closed] : undefined;
}

/** The associated data of one box after the other, most of them of one tenant. */
class BoundPlaces {
  #tenant: TenantId | undefined;
  #bytes = new Uint8Array(EVENT_ID_BYTES);

  /** The same bytes each time, changed. */
  bound({ tenant, eventId }: BoxPlace): Uint8Array {
    if (eventId.length !== EVENT_ID_BYTES) throw new RangeError(`an event id has ${eventId.length} bytes`);
    if (tenant !== this.#tenant) {
      const name = Buffer.from(tenant);
      this.#bytes = new Uint8Array(EVENT_ID_BYTES + name.length);
      this.#bytes.set(name, EVENT_ID_BYTES);
      this.#tenant = tenant;
    }
    this.#bytes.set(eventId, 0);
    return this.#bytes;
  }
}
