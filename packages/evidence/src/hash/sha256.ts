// SHA-256 (FIPS 180-4), synchronous, in Node and in browsers: of one message, or of a long one that comes in
// pieces. Many messages are hashed faster in a HashPool. Nothing is compiled before the first hash.

import { digestAt, makeCompressor, pad, type Compressor } from './sha256-compressor.ts';
import { DIGEST_AT, INITIAL_AT, MESSAGES_AT, PAGE_BYTES } from './sha256-module.ts';
import { BLOCK_BYTES, DIGEST_BYTES } from './sha256-plain.ts';

/** What fits into a compressor's first page beside what was left of the piece before, and padding. */
const PIECE_BYTES_MAX = PAGE_BYTES - MESSAGES_AT - 2 * BLOCK_BYTES;

let shared: Compressor | undefined;

/** For whoever is done with it before anybody else can come. */
export function sharedCompressor(): Compressor {
  return (shared ??= makeCompressor());
}

/** The hash of the parts, one behind the other, in a fresh array of 32 bytes. */
export function sha256(...parts: readonly Uint8Array[]): Uint8Array {
  return hashParts(sharedCompressor(), parts);
}

/** The hash of a byte and one or two parts behind it: a leaf or a node of the tree, where a list of parts is dear. */
export function sha256Prefixed(prefix: number, first: Uint8Array, second?: Uint8Array): Uint8Array {
  const length = 1 + first.length + (second === undefined ? 0 : second.length);
  if (length > PIECE_BYTES_MAX) return sha256(Uint8Array.of(prefix), first, second ?? new Uint8Array());
  const compressor = sharedCompressor();
  const { bytes } = compressor;
  bytes[MESSAGES_AT] = prefix;
  bytes.set(first, MESSAGES_AT + 1);
  if (second !== undefined) bytes.set(second, MESSAGES_AT + 1 + first.length);
  const blocks = pad(compressor, MESSAGES_AT, length);
  compressor.compress(INITIAL_AT, DIGEST_AT, MESSAGES_AT, blocks);
  return digestAt(bytes, DIGEST_AT);
}

export function hashParts(compressor: Compressor, parts: readonly Uint8Array[]): Uint8Array {
  let length = 0;
  for (const part of parts) length += part.length;
  if (length > PIECE_BYTES_MAX) return hashLongParts(compressor, parts);
  const { bytes } = compressor;
  let at = MESSAGES_AT;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  const blocks = pad(compressor, MESSAGES_AT, length);
  compressor.compress(INITIAL_AT, DIGEST_AT, MESSAGES_AT, blocks);
  return digestAt(bytes, DIGEST_AT);
}

function hashLongParts(compressor: Compressor, parts: readonly Uint8Array[]): Uint8Array {
  const stream = new Sha256Stream(compressor);
  for (const part of parts) stream.update(part);
  return stream.digest();
}

/** The hash of a message that comes in pieces, in constant memory. */
export class Sha256Stream {
  readonly #compressor: Compressor;
  readonly #state: Uint8Array;
  /** The bytes that came last and do not fill a block yet: as many as #length is over a multiple of a block. */
  readonly #rest = new Uint8Array(BLOCK_BYTES);
  #length = 0;

  constructor(compressor: Compressor = sharedCompressor()) {
    this.#compressor = compressor;
    this.#state = compressor.bytes.slice(INITIAL_AT, INITIAL_AT + DIGEST_BYTES);
  }

  update(bytes: Uint8Array): this {
    for (let from = 0; from < bytes.length; from += PIECE_BYTES_MAX) {
      this.#take(bytes.subarray(from, from + PIECE_BYTES_MAX));
    }
    return this;
  }

  /** The hash of all that came so far; more may follow. */
  digest(): Uint8Array {
    const { bytes, compress } = this.#compressor;
    const restLength = this.#load();
    const blocks = pad(this.#compressor, MESSAGES_AT, restLength, this.#length - restLength);
    compress(DIGEST_AT, DIGEST_AT, MESSAGES_AT, blocks);
    return bytes.slice(DIGEST_AT, DIGEST_AT + DIGEST_BYTES);
  }

  #take(piece: Uint8Array): void {
    const { bytes, compress } = this.#compressor;
    const restLength = this.#load();
    bytes.set(piece, MESSAGES_AT + restLength);
    this.#length += piece.length;
    const blocks = Math.floor((restLength + piece.length) / BLOCK_BYTES);
    if (blocks > 0) compress(DIGEST_AT, DIGEST_AT, MESSAGES_AT, blocks);
    this.#state.set(bytes.subarray(DIGEST_AT, DIGEST_AT + DIGEST_BYTES));
    const restAt = MESSAGES_AT + blocks * BLOCK_BYTES;
    this.#rest.set(bytes.subarray(restAt, restAt + BLOCK_BYTES));
  }

  /** Brings state and rest to the compressor, which others have used meanwhile; returns the rest's length. */
  #load(): number {
    const { bytes } = this.#compressor;
    bytes.set(this.#state, DIGEST_AT);
    bytes.set(this.#rest, MESSAGES_AT);
    return this.#length % BLOCK_BYTES;
  }
}
