// JSON text as bytes, written into one growing buffer and never past its limit, with the outline of its outer levels: what
// canonicalBytes would find in it again.

import { isUtf8 } from 'node:buffer';
import { AuditError } from '@tallystick/contract';
import { malformed } from './reader.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const START_BYTES = 256;
/** Between the end of a key and its value there are a quote and a colon. */
const KEY_TO_VALUE = 2;

/** By character: what stands for it inside a text, if not itself. */
const ESCAPES: readonly (Uint8Array | undefined)[] = Array.from({ length: 256 }, (_, code) =>
  code < 0x20 || code === QUOTE || code === BACKSLASH
    ? Buffer.from(JSON.stringify(String.fromCharCode(code)).slice(1, -1))
    : undefined,
);
const IS_ESCAPED = Uint8Array.from(ESCAPES, (escape) => (escape === undefined ? 0 : 1));

const NODE_PLACES = 4;
/** Of a value that is not outlined. */
const NONE = -1;

/** The same bytes, one by one and by words. */
export interface TextSource {
  readonly bytes: Uint8Array;
  readonly words: DataView;
}

export interface Outlining {
  readonly levels: number;
  /** Members of the last level but one of which nothing inside is outlined. */
  readonly names: readonly string[];
}

const NOT_OUTLINED: Outlining = { levels: -1, names: [] };

export class JsonBytes {
  readonly #max: number;
  #bytes: Buffer;
  #words: DataView;
  #length = 0;
  readonly #outline: Outlining;
  /** As JsonOutline has them. */
  #nodes = new Int32Array(NODE_PLACES);
  #top = 0;
  /** Containers that are open, and the most that were. */
  level = 0;
  deepest = 0;
  /** Whether the text is canonical and its outline complete, as far as what writes it knows. */
  isOutlined = true;

  /** Throws REQUEST_TOO_LARGE past so many bytes; `expected` is how many there may well be. */
  constructor(max: number, expected: number, outline = NOT_OUTLINED) {
    this.#max = max;
    this.#bytes = Buffer.allocUnsafe(Math.min(max, expected + START_BYTES));
    this.#words = wordsOf(this.#bytes);
    this.#outline = outline;
  }

  finish(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  nodes(): Int32Array {
    return this.#nodes.slice(0, this.#top);
  }

  open(code: number): void {
    this.byte(code);
    this.level += 1;
    if (this.level > this.deepest) this.deepest = this.level;
  }

  close(code: number): void {
    this.byte(code);
    this.level -= 1;
  }

  /** Begins a value whose container is open: an item, or a member whose key, so many bytes long, is written. `end` ends it. */
  begin(keyBytes?: number): number {
    if (this.level > this.#outline.levels) return NONE;
    const node = this.#top;
    this.#top += NODE_PLACES;
    if (this.#top > this.#nodes.length) this.#growNodes();
    const from = this.#length;
    this.#nodes[node] = keyBytes === undefined ? 0 : from - KEY_TO_VALUE - keyBytes;
    this.#nodes[node + 1] = from;
    return node;
  }

  end(node: number): void {
    if (node === NONE) return;
    this.#nodes[node + 2] = this.#length;
    this.#nodes[node + 3] = this.#top - node;
  }

  /** What is inside the value at hand, of this member, is not outlined. */
  leaveOut(member?: string): void {
    const { levels, names } = this.#outline;
    const isClosed = this.level === levels - 1 && member !== undefined && names.includes(member);
    if (this.level < levels && !isClosed) this.isOutlined = false;
  }

  byte(code: number): void {
    if (this.#length === this.#bytes.length) this.#reserve(1);
    this.#bytes[this.#length++] = code;
  }

  /** JSON of nothing but ASCII. */
  ascii(json: string): void {
    const { length } = json;
    this.#reserve(length);
    for (let i = 0; i < length; i++) this.#bytes[this.#length + i] = json.charCodeAt(i);
    this.#length += length;
  }

  number(value: number): void {
    if (!Number.isFinite(value)) throw malformed('a number is not finite');
    // It is told as an integer that is not exact.
    if (Number.isInteger(value) && !Number.isSafeInteger(value)) this.isOutlined = false;
    this.ascii(String(value));
  }

  /** JSON in UTF-8. */
  json(bytes: Uint8Array, from = 0): void {
    this.#reserve(bytes.length - from);
    for (let i = from; i < bytes.length; i++) this.#bytes[this.#length++] = bytes[i]!;
  }

  /** A JSON text of these characters, which must be UTF-8. */
  text({ bytes: source, words }: TextSource, from: number, to: number): void {
    this.#reserve(to - from + 2);
    let bytes = this.#bytes;
    let at = this.#length;
    let seen = 0;
    bytes[at++] = QUOTE;
    let i = from;
    // Four bytes at a time, for as long as they stand for themselves, which is twice as fast.
    for (; i + 4 <= to; i += 4, at += 4) {
      const word = words.getInt32(i, true);
      if (!isPlain(word)) break;
      this.#words.setInt32(at, word, true);
    }
    for (; i < to; i++) {
      const byte = source[i]!;
      seen |= byte;
      if (IS_ESCAPED[byte] === 0) {
        bytes[at++] = byte;
        continue;
      }
      const escape = ESCAPES[byte]!;
      this.#length = at;
      this.#reserve(escape.length + to - i);
      bytes = this.#bytes;
      bytes.set(escape, at);
      at += escape.length;
    }
    bytes[at++] = QUOTE;
    this.#length = at;
    // The bytes before are ASCII, so that a character begins where they end.
    if (seen >= 0x80 && !isUtf8(source.subarray(from, to))) throw malformed('a text is not in UTF-8');
  }

  #growNodes(): void {
    const larger = new Int32Array(2 * this.#top);
    larger.set(this.#nodes);
    this.#nodes = larger;
  }

  #reserve(length: number): void {
    const needed = this.#length + length;
    if (needed <= this.#bytes.length) return;
    if (needed > this.#max)
      throw new AuditError('REQUEST_TOO_LARGE', `The message is over ${this.#max} bytes as JSON.`);
    const larger = Buffer.allocUnsafe(Math.min(this.#max, 2 * needed));
    larger.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = larger;
    this.#words = wordsOf(larger);
  }
}

function wordsOf({ buffer, byteOffset, byteLength }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, byteLength);
}

/** Whether none of the four bytes is a quote, a backslash, below 0x20 or above 0x7f. */
function isPlain(word: number): boolean {
  const isQuote = (word ^ 0x22222222) - 0x01010101;
  const isBackslash = (word ^ 0x5c5c5c5c) - 0x01010101;
  return ((word | (word - 0x20202020) | isQuote | isBackslash) & 0x80808080) === 0;
}
