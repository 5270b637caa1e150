// Numbers and terms as bytes: what the blocks of a segment are made of. Numbers are varints, seven bits a byte, the lowest
// first. Terms are byte strings, that is, strings in which each character is a byte: they compare as their bytes do.

const CAPACITY = 64 * 1024;
const COPIED_HERE_MAX = 64;
/** A varint of a safe integer takes no more. */
const VARINT_BYTES_MAX = 8;

export class ByteWriter {
  length = 0;
  #bytes: Buffer;

  constructor(capacity = CAPACITY) {
    this.#bytes = Buffer.allocUnsafe(capacity);
  }

  byte(value: number): void {
    if (this.length === this.#bytes.length) this.#grow(1);
    this.#bytes[this.length++] = value;
  }

  /** Of a whole number from 0 to 2^53 - 1. */
  varint(value: number): void {
    if (this.length + VARINT_BYTES_MAX > this.#bytes.length) this.#grow(VARINT_BYTES_MAX);
    const bytes = this.#bytes;
    let at = this.length;
    let rest = value;
    while (rest >= 0x8000_0000) {
      bytes[at++] = (rest % 0x80) | 0x80;
      rest = Math.floor(rest / 0x80);
    }
    while (rest >= 0x80) {
      bytes[at++] = (rest & 0x7f) | 0x80;
      rest >>>= 7;
    }
    bytes[at++] = rest;
    this.length = at;
  }

  /** Of a whole number that may be below zero. */
  signed(value: number): void {
    this.varint(value >= 0 ? value * 2 : -value * 2 - 1);
  }

  /** The bytes of a byte string, from one on. */
  term(term: string, from = 0): void {
    const { length } = term;
    if (this.length + length - from > this.#bytes.length) this.#grow(length - from);
    const bytes = this.#bytes;
    let at = this.length;
    for (let i = from; i < length; i++) bytes[at++] = term.charCodeAt(i);
    this.length = at;
  }

  bytes(from: Uint8Array, start = 0, end = from.length): void {
    const length = end - start;
    if (this.length + length > this.#bytes.length) this.#grow(length);
    const bytes = this.#bytes;
    const at = this.length;
    this.length = at + length;
    // To copy a few is faster than to ask for it.
    if (length <= COPIED_HERE_MAX) for (let i = 0; i < length; i++) bytes[at + i] = from[start + i]!;
    else bytes.set(from.subarray(start, end), at);
  }

  uint32(value: number): void {
    if (this.length + 4 > this.#bytes.length) this.#grow(4);
    this.length = this.#bytes.writeUInt32LE(value, this.length);
  }

  /** What was written, until something else is. */
  written(): Buffer {
    return this.#bytes.subarray(0, this.length);
  }

  /** A copy of what was written; then nothing is. */
  take(): Buffer {
    const taken = Buffer.from(this.written());
    this.length = 0;
    return taken;
  }

  #grow(by: number): void {
    const grown = Buffer.allocUnsafe(Math.max(this.#bytes.length * 2, this.length + by));
    this.#bytes.copy(grown, 0, 0, this.length);
    this.#bytes = grown;
  }
}

/** Throws where the bytes end too soon: a block that is cut short must not be read as one with less in it. */
export class ByteReader {
  at: number;
  readonly #bytes: Buffer;
  readonly #end: number;

  constructor(bytes: Buffer, at = 0, end = bytes.length) {
    this.#bytes = bytes;
    this.at = at;
    this.#end = end;
  }

  get isAtEnd(): boolean {
    return this.at >= this.#end;
  }

  /** What follows is not part of what was written. */
  end(): void {
    if (!this.isAtEnd) throw new Error('a block of the index goes on behind its end');
  }

  byte(): number {
    if (this.at >= this.#end) throw new Error('a block of the index ends too soon');
    return this.#bytes[this.at++]!;
  }

  varint(): number {
    const first = this.byte();
    if (first < 0x80) return first;
    let value = first & 0x7f;
    for (let factor = 0x80; ; factor *= 0x80) {
      const next = this.byte();
      value += (next & 0x7f) * factor;
      if (value > Number.MAX_SAFE_INTEGER) throw new Error('a number of the index is too large');
      if (next < 0x80) return value;
    }
  }

  /** Of things that take at least a byte each, and come next. */
  count(): number {
    const count = this.varint();
    if (count > this.#end - this.at) throw new Error('a block of the index ends too soon');
    return count;
  }

  signed(): number {
    const value = this.varint();
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }

  term(length: number): string {
    return this.#bytes.toString('latin1', this.#move(length), this.at);
  }

  bytes(length: number): Buffer {
    return this.#bytes.subarray(this.#move(length), this.at);
  }

  /** Passes over so many bytes; gives where they begin. */
  #move(length: number): number {
    const from = this.at;
    if (from + length > this.#end) throw new Error('a block of the index ends too soon');
    this.at = from + length;
    return from;
  }
}

/** How many bytes a varint takes. */
export function varintBytes(value: number): number {
  let bytes = 1;
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes++;
  return bytes;
}

/** A text as a byte string of its UTF-8. */
export function termOf(text: string): string {
  return isAscii(text) ? text : Buffer.from(text, 'utf8').toString('latin1');
}

export function isAscii(text: string): boolean {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) >= 0x80) return false;
  return true;
}

/** The text that a byte string is the UTF-8 of. */
export function textOfTerm(term: string): string {
  return isAscii(term) ? term : Buffer.from(term, 'latin1').toString('utf8');
}

/** Of the first so many bytes of each. */
export function compareBytes(a: Uint8Array, aLength: number, b: Uint8Array, bLength: number): number {
  const end = Math.min(aLength, bLength);
  for (let i = 0; i < end; i++) if (a[i] !== b[i]) return a[i]! - b[i]!;
  return aLength - bLength;
}
