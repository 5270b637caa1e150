// HMAC-SHA-256 (RFC 2104) of many short messages under one key. What the key adds to both hashes is computed once, so that a
// message of up to 55 bytes takes two blocks, where four would be hashed otherwise.

import { pad, type Compressor } from './sha256-compressor.ts';
import { INITIAL_AT, MESSAGES_AT, PAGE_BYTES } from './sha256-module.ts';
import { sharedCompressor } from './sha256-fast.ts';
import { BLOCK_BYTES, DIGEST_BYTES, sha256 } from './sha256.ts';

const STATE_WORDS = DIGEST_BYTES / 4;
/** Of its memory: a hash to go on from, and behind it the message. */
const STATE_AT = MESSAGES_AT;
const MESSAGE_AT = STATE_AT + BLOCK_BYTES;
const MESSAGE_BYTES_MAX = PAGE_BYTES - MESSAGE_AT - 2 * BLOCK_BYTES;

const SHORT_TEXT = 64;

const encoder = new TextEncoder();

export class HmacSha256 {
  readonly #key: Uint8Array;
  readonly #inner: Int32Array;
  readonly #outer: Int32Array;

  constructor(key: Uint8Array) {
    this.#key = key.length > BLOCK_BYTES ? sha256(key) : key.slice();
    this.#inner = stateBehind(padded(this.#key, 0x36));
    this.#outer = stateBehind(padded(this.#key, 0x5c));
  }

  /** Of the text in UTF-8; the bytes are the caller's. */
  ofText(text: string): Uint8Array {
    const compressor = sharedCompressor();
    // A unit of a text takes three bytes at most.
    if (3 * text.length > MESSAGE_BYTES_MAX) return this.#ofLong(encoder.encode(text));
    goOn(compressor, this.#inner, write(compressor.bytes, text));
    for (let i = 0; i < STATE_WORDS; i++)
      compressor.words[(MESSAGE_AT >>> 2) + i] = compressor.words[(STATE_AT >>> 2) + i]!;
    goOn(compressor, this.#outer, DIGEST_BYTES);
    return compressor.bytes.slice(STATE_AT, STATE_AT + DIGEST_BYTES);
  }

  #ofLong(message: Uint8Array): Uint8Array {
    const inner = sha256(padded(this.#key, 0x36), message);
    return sha256(padded(this.#key, 0x5c), inner);
  }
}

/** Gives the number of bytes. Words of ASCII are most: for these a loop is faster than a call to the encoder. */
function write(bytes: Uint8Array, text: string): number {
  if (text.length > SHORT_TEXT) return encoder.encodeInto(text, bytes.subarray(MESSAGE_AT)).written;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code >= 0x80) return encoder.encodeInto(text, bytes.subarray(MESSAGE_AT)).written;
    bytes[MESSAGE_AT + i] = code;
  }
  return text.length;
}

function padded(key: Uint8Array, byte: number): Uint8Array {
  const block = new Uint8Array(BLOCK_BYTES).fill(byte);
  for (let i = 0; i < key.length; i++) block[i]! ^= key[i]!;
  return block;
}

/** The hash to go on from behind one block. */
function stateBehind(block: Uint8Array): Int32Array {
  const { bytes, words, compress } = sharedCompressor();
  bytes.set(block, MESSAGE_AT);
  compress(INITIAL_AT, STATE_AT, MESSAGE_AT, 1);
  return words.slice(STATE_AT >>> 2, (STATE_AT >>> 2) + STATE_WORDS);
}

/** Ends the message that stands in the memory and follows one block; its hash is where the state was. */
function goOn(compressor: Compressor, from: Int32Array, length: number): void {
  for (let i = 0; i < STATE_WORDS; i++) compressor.words[(STATE_AT >>> 2) + i] = from[i]!;
  const blocks = pad(compressor, MESSAGE_AT, length, BLOCK_BYTES);
  compressor.compress(STATE_AT, STATE_AT, MESSAGE_AT, blocks);
}
