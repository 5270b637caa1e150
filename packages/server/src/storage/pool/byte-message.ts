// A message of bytes between threads, written and read in order. It is one ArrayBuffer that is transferred, so that
// nothing is cloned; texts are UTF-8, written once and read as slices of the buffer.

const encoder = new TextEncoder();
const CAPACITY_MIN = 64 * 1024;
const UTF8_BYTES_PER_UNIT_MAX = 3;
/** Ids and names are so short that a loop is faster than a call of the encoder. */
const SHORT_TEXT = 64;

export class ByteWriter {
  #bytes: Uint8Array<ArrayBuffer>;
  #view: DataView;
  #at = 0;

  /** Reserves about this number of bytes. Reuses `room` if it is large enough; grows on demand. */
  constructor(bytes: number, room?: ArrayBuffer) {
    const isEnough = room !== undefined && room.byteLength >= bytes;
    const buffer = isEnough ? room : new ArrayBuffer(Math.max(bytes, CAPACITY_MIN));
    this.#bytes = new Uint8Array(buffer);
    this.#view = new DataView(buffer);
  }

  /** The whole buffer, to be transferred: the writer must not be used afterwards. */
  get buffer(): ArrayBuffer {
    return this.#bytes.buffer;
  }

  u8(value: number): void {
    this.#reserve(1);
    this.#bytes[this.#at++] = value;
  }

  u32(value: number): void {
    this.#reserve(4);
    this.#view.setUint32(this.#at, value, true);
    this.#at += 4;
  }

  /** Times, indexes and sizes: whole numbers up to 2^53. */
  f64(value: number): void {
    this.#reserve(8);
    this.#view.setFloat64(this.#at, value, true);
    this.#at += 8;
  }

  bytes(value: Uint8Array): void {
    this.u32(value.length);
    this.#reserve(value.length);
    this.#bytes.set(value, this.#at);
    this.#at += value.length;
  }

  text(value: string): void {
    this.#reserve(4 + value.length);
    if (value.length < SHORT_TEXT && this.#shortText(value)) return;
    const lengthAt = this.#at;
    const from = lengthAt + 4;
    let { read, written } = encoder.encodeInto(value, this.#bytes.subarray(from));
    if (read < value.length) {
      this.#reserve(4 + value.length * UTF8_BYTES_PER_UNIT_MAX);
      ({ read, written } = encoder.encodeInto(value, this.#bytes.subarray(from)));
    }
    this.#view.setUint32(lengthAt, written, true);
    this.#at = from + written;
  }

  /** False, and nothing is written, if the text is not all ASCII. */
  #shortText(value: string): boolean {
    const from = this.#at + 4;
    for (let i = 0; i < value.length; i++) {
      const code = value.charCodeAt(i);
      if (code >= 0x80) return false;
      this.#bytes[from + i] = code;
    }
    this.#view.setUint32(this.#at, value.length, true);
    this.#at = from + value.length;
    return true;
  }

  #reserve(count: number): void {
    if (this.#at + count <= this.#bytes.length) return;
    const grown = new Uint8Array(Math.max(2 * this.#bytes.length, this.#at + count));
    grown.set(this.#bytes.subarray(0, this.#at));
    this.#bytes = grown;
    this.#view = new DataView(grown.buffer);
  }
}

export class ByteReader {
  readonly #bytes: Uint8Array;
  /** The same memory, to decode texts in place. */
  readonly #texts: Buffer;
  readonly #view: DataView;
  #at = 0;

  constructor(message: ArrayBuffer) {
    this.#bytes = new Uint8Array(message);
    this.#texts = Buffer.from(message);
    this.#view = new DataView(message);
  }

  u8(): number {
    return this.#view.getUint8(this.#at++);
  }

  u32(): number {
    this.#at += 4;
    return this.#view.getUint32(this.#at - 4, true);
  }

  f64(): number {
    this.#at += 8;
    return this.#view.getFloat64(this.#at - 8, true);
  }

  /** A slice of the message itself: copy it to keep it longer than the message. */
  bytes(): Uint8Array {
    const length = this.u32();
    const from = this.#at;
    this.#at += length;
    return this.#bytes.subarray(from, this.#at);
  }

  text(): string {
    const length = this.u32();
    const from = this.#at;
    this.#at += length;
    return this.#texts.toString('utf8', from, this.#at);
  }
}
