// Hashes many messages, four at a time where the platform can. They are written straight into the pool's memory,
// and may contain hashes of earlier runs. A pool owns its memory: keep one and reset() it.
//   const at = pool.open(bytesMax);      room for bytesMax bytes in pool.bytes, which may be a new array now
//   const ordinal = pool.close(length);  messages are numbered from 0
//   pool.run();                          now the hashes of all messages are there, until reset()

import {
  blocksOf,
  digestAt,
  makeCompressor,
  pad,
  type Compressor,
  type MakeCompressor,
} from './sha256-compressor.ts';
import { DIGESTS_AT, INITIAL_AT, MESSAGES_AT } from './sha256-module.ts';
import { BLOCK_BYTES, DIGEST_BYTES } from './sha256-plain.ts';

const MESSAGE_BYTES_MAX = 256 * 1024 * 1024;
/** Where messages wait for others of their length. All are hashed when it is full, so that it stays in cache. */
const STAGE_END = MESSAGES_AT + 256 * 1024;
/** Longer messages seldom meet three others of their length: they are hashed at once, alone. */
const WAITING_BLOCKS_MAX = 64;
const LANES = 4;

const MEMORY_BYTES_RETAINED_MAX = 1024 * 1024;
const DIGESTS_RETAINED_MAX = 65_536;
const DIGESTS_INITIAL = 256;
const DIGEST_WORDS = DIGEST_BYTES / 4;
const LITTLE_ENDIAN = new Uint8Array(Int32Array.of(1).buffer)[0] === 1;

export class HashPool {
  readonly #makeCompressor: MakeCompressor;
  #compressor: Compressor;
  /** Where the next message begins, and how long the open one may be; negative while none is open. */
  #at = MESSAGES_AT;
  #openBytesMax = -1;
  #count = 0;
  #hashedCount = 0;
  #digests = new Uint8Array(DIGESTS_INITIAL * DIGEST_BYTES);
  #digestWords = new Int32Array(this.#digests.buffer);
  // By number of blocks: how many messages of that length wait, where they are, and their ordinals.
  readonly #waiting = new Uint8Array(WAITING_BLOCKS_MAX + 1);
  readonly #waitingAt = new Int32Array((WAITING_BLOCKS_MAX + 1) * LANES);
  readonly #waitingOrdinal = new Int32Array((WAITING_BLOCKS_MAX + 1) * LANES);

  constructor(make: MakeCompressor = makeCompressor) {
    this.#makeCompressor = make;
    this.#compressor = make();
    this.#compressor.grow(STAGE_END);
  }

  /** Where messages are written, at the offset that open() gives. Read it anew after every open(). */
  get bytes(): Uint8Array {
    return this.#compressor.bytes;
  }

  /** How many messages there are: the ordinal of the next one. */
  get count(): number {
    return this.#count;
  }

  /** The hashes, each where digestOffset() says. Read it anew after every run(). */
  get digests(): Uint8Array {
    return this.#digests;
  }

  /** Begins a message; one that is still open is forgotten. Returns the offset in `bytes` to write it to. */
  open(bytesMax: number): number {
    if (!(bytesMax >= 0 && bytesMax <= MESSAGE_BYTES_MAX)) {
      throw new RangeError(`message is ${bytesMax} bytes; limit ${MESSAGE_BYTES_MAX}`);
    }
    const paddedBytes = blocksOf(bytesMax) * BLOCK_BYTES;
    if (this.#at + paddedBytes > STAGE_END) {
      this.#hashWaiting();
      const end = this.#at + paddedBytes;
      if (end > this.#compressor.bytes.length) this.#compressor.grow(end);
    }
    this.#openBytesMax = bytesMax;
    return this.#at;
  }

  /** Ends the open message after `length` bytes and returns its ordinal. */
  close(length: number): number {
    if (!(length >= 0 && length <= this.#openBytesMax)) {
      throw new RangeError(`message is ${length} bytes; opened for ${this.#openBytesMax}`);
    }
    this.#openBytesMax = -1;
    const blocks = pad(this.#compressor, this.#at, length);
    const ordinal = this.#count++;
    if (this.#count * DIGEST_BYTES > this.#digests.length) this.#growDigests();
    if (this.#compressor.compress4 === undefined || blocks > WAITING_BLOCKS_MAX) {
      this.#hashOne(this.#at, blocks, ordinal);
    } else {
      this.#wait(this.#at, blocks, ordinal);
      this.#at += blocks * BLOCK_BYTES;
    }
    return ordinal;
  }

  /** Adds a message that is at hand already. */
  add(...parts: readonly Uint8Array[]): number {
    let length = 0;
    for (const part of parts) length += part.length;
    let at = this.open(length);
    for (const part of parts) {
      this.bytes.set(part, at);
      at += part.length;
    }
    return this.close(length);
  }

  /** Hashes all messages that are not hashed yet; one that is still open is forgotten. */
  run(): void {
    this.#openBytesMax = -1;
    this.#hashWaiting();
    this.#hashedCount = this.#count;
  }

  /** Where a message's hash stands in `digests`; refused before a run, so that zeros never pass for a hash. */
  digestOffset(ordinal: number): number {
    if (!(ordinal >= 0 && ordinal < this.#hashedCount)) {
      throw new RangeError(`message ${ordinal} is not hashed; ${this.#hashedCount} are`);
    }
    return ordinal * DIGEST_BYTES;
  }

  /** A message's hash, in an array of its own. */
  digest(ordinal: number): Uint8Array {
    return digestAt(this.#digests, this.digestOffset(ordinal));
  }

  /** Writes a message's hash into the open message, at an offset in `bytes`. */
  copyDigest(ordinal: number, at: number): void {
    const from = this.digestOffset(ordinal) / 4;
    const words = this.#digestWords;
    const { view } = this.#compressor;
    for (let i = 0; i < DIGEST_WORDS; i++) view.setInt32(at + 4 * i, words[from + i]!, LITTLE_ENDIAN);
  }

  /** Writes words, in the platform's order, into the open message: several times faster than byte by byte. */
  writeWords(words: Int32Array, at: number): void {
    const { view } = this.#compressor;
    for (let i = 0; i < words.length; i++) view.setInt32(at + 4 * i, words[i]!, LITTLE_ENDIAN);
  }

  /** Makes the pool empty, and gives memory back that only an uncommonly large run needed. */
  reset(): void {
    this.#at = MESSAGES_AT;
    this.#openBytesMax = -1;
    this.#count = 0;
    this.#hashedCount = 0;
    this.#waiting.fill(0);
    if (this.#digests.length > DIGESTS_RETAINED_MAX * DIGEST_BYTES) {
      this.#digests = new Uint8Array(DIGESTS_INITIAL * DIGEST_BYTES);
      this.#digestWords = new Int32Array(this.#digests.buffer);
    }
    if (this.#compressor.bytes.length > MEMORY_BYTES_RETAINED_MAX) {
      this.#compressor = this.#makeCompressor();
      this.#compressor.grow(STAGE_END);
    }
  }

  #wait(at: number, blocks: number, ordinal: number): void {
    const waiting = this.#waiting[blocks]!;
    const lane = blocks * LANES + waiting;
    this.#waitingAt[lane] = at;
    this.#waitingOrdinal[lane] = ordinal;
    this.#waiting[blocks] = waiting + 1;
    if (waiting + 1 === LANES) this.#hashFour(blocks);
  }

  #hashWaiting(): void {
    for (let blocks = 1; blocks <= WAITING_BLOCKS_MAX; blocks++) {
      const waiting = this.#waiting[blocks]!;
      const lane = blocks * LANES;
      if (waiting === 3) {
        // Four at once take as long as two alone, so it pays to let the last lane repeat the first.
        this.#wait(this.#waitingAt[lane]!, blocks, this.#waitingOrdinal[lane]!);
        continue;
      }
      for (let i = lane; i < lane + waiting; i++) {
        this.#hashOne(this.#waitingAt[i]!, blocks, this.#waitingOrdinal[i]!);
      }
      this.#waiting[blocks] = 0;
    }
    this.#at = MESSAGES_AT;
  }

  #hashOne(at: number, blocks: number, ordinal: number): void {
    this.#compressor.compress(INITIAL_AT, DIGESTS_AT, at, blocks);
    this.#keepDigest(0, ordinal);
  }

  #hashFour(blocks: number): void {
    const lane = blocks * LANES;
    const at = this.#waitingAt;
    this.#compressor.compress4!(DIGESTS_AT, at[lane]!, at[lane + 1]!, at[lane + 2]!, at[lane + 3]!, blocks);
    for (let i = 0; i < LANES; i++) this.#keepDigest(i, this.#waitingOrdinal[lane + i]!);
    this.#waiting[blocks] = 0;
  }

  #keepDigest(place: number, ordinal: number): void {
    const from = DIGESTS_AT / 4 + place * DIGEST_WORDS;
    const to = ordinal * DIGEST_WORDS;
    const { words } = this.#compressor;
    const digests = this.#digestWords;
    for (let i = 0; i < DIGEST_WORDS; i++) digests[to + i] = words[from + i]!;
  }

  #growDigests(): void {
    const before = this.#digests;
    this.#digests = new Uint8Array(before.length * 2);
    this.#digests.set(before);
    this.#digestWords = new Int32Array(this.#digests.buffer);
  }
}
