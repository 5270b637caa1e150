// Writes the wire format of Protocol Buffers into one growing buffer. What is inside a message is written first and its
// length put in front of it, which moves few bytes: most messages are short.

const START_BYTES = 1024;

export const VARINT = 0;
export const FIXED64 = 1;
export const BYTES = 2;

export class WireWriter {
  #bytes = Buffer.allocUnsafe(START_BYTES);
  #length = 0;

  /** A view of what was written. */
  finish(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  tag(number: number, wire: number): this {
    return this.varint(number * 8 + wire);
  }

  /** A whole number from 0, up to 2^53. */
  varint(value: number): this {
    this.#reserve(10);
    let rest = value;
    while (rest >= 0x80) {
      this.#bytes[this.#length++] = (rest % 0x80) | 0x80;
      rest = Math.floor(rest / 0x80);
    }
    this.#bytes[this.#length++] = rest;
    return this;
  }

  /** Any whole number; a negative one has ten bytes, as if it had 64 bits. */
  integer(value: number): this {
    if (value >= 0) return this.varint(value);
    let rest = BigInt.asUintN(64, BigInt(value));
    this.#reserve(10);
    for (; rest >= 0x80n; rest >>= 7n) this.#bytes[this.#length++] = Number(rest & 0x7fn) | 0x80;
    this.#bytes[this.#length++] = Number(rest);
    return this;
  }

  double(value: number): this {
    this.#reserve(8);
    this.#length = this.#bytes.writeDoubleLE(value, this.#length);
    return this;
  }

  text(value: string): this {
    const length = Buffer.byteLength(value);
    this.varint(length);
    this.#reserve(length);
    this.#length += this.#bytes.write(value, this.#length, 'utf8');
    return this;
  }

  bytes(value: Uint8Array): this {
    this.varint(value.length);
    this.#reserve(value.length);
    this.#bytes.set(value, this.#length);
    this.#length += value.length;
    return this;
  }

  message(write: () => void): this {
    this.#reserve(1);
    const start = ++this.#length;
    write();
    const length = this.#length - start;
    const more = extraBytes(length);
    if (more > 0) {
      this.#reserve(more);
      this.#bytes.copyWithin(start + more, start, this.#length);
    }
    this.#length = start - 1;
    this.varint(length);
    this.#length += length;
    return this;
  }

  #reserve(length: number): void {
    const needed = this.#length + length;
    if (needed <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(Math.max(needed, 2 * this.#bytes.length));
    larger.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = larger;
  }
}

/** Of the varint of a length, beyond the first. */
function extraBytes(length: number): number {
  if (length < 0x80) return 0;
  if (length < 0x4000) return 1;
  if (length < 0x20_0000) return 2;
  return length < 0x1000_0000 ? 3 : 4;
}
