// Words and other keys of terms as bytes, one after another, each with a hash: most of what it takes to index an event is
// this, and to make a string of each would take several times as long.

import { ASCII_IN_WORDS, eachToken, TOKEN_BYTES_MAX } from '../../../query/tokens.ts';

const CAPACITY = 4 * 1024;
const ASCII_END = 0x80;
/** What a UTF-16 unit takes at most. */
const UNIT_BYTES_MAX = 3;
// FNV-1a: good enough for words, and all of it is in the loop that reads them.
const HASH_BEGIN = 0x811c9dc5 | 0;
const HASH_PRIME = 0x01000193;

export class WordBytes {
  bytes = Buffer.allocUnsafe(CAPACITY);
  /** How many there are. */
  count = 0;
  /** By their numbers. */
  from = new Int32Array(64);
  length = new Int32Array(64);
  hash = new Int32Array(64);
  #end = 0;

  clear(): void {
    this.count = 0;
    this.#end = 0;
  }

  /** The words of a text; gives how many. More than `max` are not added. */
  addWords(text: string, max: number): number {
    this.#reserve(text.length + 1);
    const first = this.count;
    const begin = this.#end;
    const { bytes } = this;
    let at = this.#end;
    let from = at;
    let hash = HASH_BEGIN;
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i);
      if (code >= ASCII_END) {
        this.count = first;
        this.#end = begin;
        return this.#addOthers(text, max);
      }
      const letter = ASCII_IN_WORDS[code]!;
      if (letter !== 0) {
        if (at - from === TOKEN_BYTES_MAX) continue;
        bytes[at++] = letter;
        hash = Math.imul(hash ^ letter, HASH_PRIME);
      } else if (at > from) {
        this.#push(from, at, hash);
        if (this.count - first > max) break;
        from = at;
        hash = HASH_BEGIN;
      }
    }
    if (at > from && this.count - first <= max) this.#push(from, at, hash);
    this.#end = at;
    return this.count - first;
  }

  /** A text as a whole. Gives its number. */
  add(text: string): number {
    this.#reserve(UNIT_BYTES_MAX * text.length);
    const from = this.#end;
    let at = from;
    let hash = HASH_BEGIN;
    const { bytes } = this;
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i);
      if (code >= ASCII_END) {
        at = from + bytes.write(text, from, 'utf8');
        hash = hashOf(bytes, from, at);
        break;
      }
      bytes[at++] = code;
      hash = Math.imul(hash ^ code, HASH_PRIME);
    }
    this.#push(from, at, hash);
    this.#end = at;
    return this.count - 1;
  }

  #addOthers(text: string, max: number): number {
    const first = this.count;
    eachToken(text, (word) => {
      this.add(word);
      return this.count - first <= max;
    });
    return this.count - first;
  }

  #push(from: number, end: number, hash: number): void {
    const number = this.count++;
    if (number === this.from.length) {
      this.from = grown(this.from);
      this.length = grown(this.length);
      this.hash = grown(this.hash);
    }
    this.from[number] = from;
    this.length[number] = end - from;
    this.hash[number] = hash;
  }

  #reserve(bytes: number): void {
    if (this.#end + bytes <= this.bytes.length) return;
    const larger = Buffer.allocUnsafe(2 * (this.#end + bytes));
    this.bytes.copy(larger, 0, 0, this.#end);
    this.bytes = larger;
  }
}

export function hashOf(bytes: Uint8Array, from: number, end: number): number {
  let hash = HASH_BEGIN;
  for (let i = from; i < end; i++) hash = Math.imul(hash ^ bytes[i]!, HASH_PRIME);
  return hash;
}

export function grown(array: Int32Array<ArrayBuffer>): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(array.length * 2);
  larger.set(array);
  return larger;
}
