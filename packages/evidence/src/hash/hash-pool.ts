// Hashes many messages, four at a time where the platform can. The caller writes them straight into the pool's
// memory and says where in it each hash goes, so that a hash can land inside the message that it is a part of.
//   const at = pool.room(length);   room for a message and its padding, until reset(); `bytes` may be new now
//   pool.hash(at, length, to);      the message is not to be touched any more
//   pool.run();                     now the hashes of all messages are where they belong
// A pool owns its memory, which grows with what it is given: keep one, run it and reset() it.

import {
  blocksOf,
  digestAt,
  makeCompressor,
  pad,
  type Compressor,
  type MakeCompressor,
} from './sha256-compressor.ts';
import { INITIAL_AT, MESSAGES_AT } from './sha256-module.ts';
import { BLOCK_BYTES, DIGEST_BYTES } from './sha256.ts';

const MESSAGE_BYTES_MAX = 256 * 1024 * 1024;
/** Longer messages seldom meet three others of their length: they are hashed at once, alone. */
const WAITING_BLOCKS_MAX = 64;
const LANES = 4;

const MEMORY_BYTES_INITIAL = 512 * 1024;
const MEMORY_BYTES_RETAINED_MAX = 4 * 1024 * 1024;
const LITTLE_ENDIAN = new Uint8Array(Int32Array.of(1).buffer)[0] === 1;

export class HashPool {
  readonly #makeCompressor: MakeCompressor;
  #compressor: Compressor;
  /** Where the next room begins. */
  #end = MESSAGES_AT;
  // By number of blocks: how many messages of that length wait, where they are, and where their hashes go.
  readonly #waiting = new Uint8Array(WAITING_BLOCKS_MAX + 1);
  readonly #waitingAt = new Int32Array((WAITING_BLOCKS_MAX + 1) * LANES);
  readonly #waitingTo = new Int32Array((WAITING_BLOCKS_MAX + 1) * LANES);

  constructor(make: MakeCompressor = makeCompressor) {
    this.#makeCompressor = make;
    this.#compressor = this.#freshCompressor();
  }

  /** All of its memory. Read it anew after every room() and reset(). */
  get bytes(): Uint8Array {
    return this.#compressor.bytes;
  }

  /** How much of the memory is taken. */
  get bytesUsed(): number {
    return this.#end - MESSAGES_AT;
  }

  /** Takes memory for a message of so many bytes, its padding included; the offset is a multiple of 64. */
  room(length: number): number {
    if (!(length >= 0 && length <= MESSAGE_BYTES_MAX)) {
      throw new RangeError(`message is ${length} bytes; limit ${MESSAGE_BYTES_MAX}`);
    }
    const at = this.#end;
    this.#end = at + blocksOf(length) * BLOCK_BYTES;
    if (this.#end > this.#compressor.bytes.length) this.#compressor.grow(this.#end + this.#end / 2);
    return at;
  }

  /** Hashes the message at `at`, a multiple of 4, into the 32 bytes at `to`: at once, or when run() is called. */
  hash(at: number, length: number, to: number): void {
    const blocks = blocksOf(length);
    const isInside = at >= MESSAGES_AT && length >= 0 && at + blocks * BLOCK_BYTES <= this.#end;
    if (!isInside || !(to >= MESSAGES_AT && to + DIGEST_BYTES <= this.#end)) {
      throw new RangeError(`message of ${length} bytes at ${at}, hash to ${to}: outside of ${this.#end}`);
    }
    pad(this.#compressor, at, length);
    if (this.#compressor.compress4 === undefined || blocks > WAITING_BLOCKS_MAX) {
      this.#compressor.compress(INITIAL_AT, to, at, blocks);
    } else this.#wait(at, to, blocks);
  }

  /** Hashes all messages that still wait. */
  run(): void {
    const { compress } = this.#compressor;
    for (let blocks = 1; blocks <= WAITING_BLOCKS_MAX; blocks++) {
      const waiting = this.#waiting[blocks]!;
      if (waiting === 0) continue;
      const lane = blocks * LANES;
      if (waiting === 3) {
        // Four at once take as long as two alone, so it pays to let the last lane repeat the first.
        this.#wait(this.#waitingAt[lane]!, this.#waitingTo[lane]!, blocks);
        continue;
      }
      for (let i = lane; i < lane + waiting; i++) {
        compress(INITIAL_AT, this.#waitingTo[i]!, this.#waitingAt[i]!, blocks);
      }
      this.#waiting[blocks] = 0;
    }
  }

  /** The hash at an offset, in an array of its own. */
  digest(at: number): Uint8Array {
    return digestAt(this.#compressor.bytes, at);
  }

  /** Writes words, in the platform's order, at any offset: several times faster than byte by byte. */
  writeWords(words: Int32Array, at: number): void {
    const { view } = this.#compressor;
    for (let i = 0; i < words.length; i++) view.setInt32(at + 4 * i, words[i]!, LITTLE_ENDIAN);
  }

  /** Moves words within `bytes`; both offsets are multiples of 4. */
  moveWords(from: number, to: number, count: number): void {
    const { words } = this.#compressor;
    for (let i = 0; i < count; i++) words[(to >>> 2) + i] = words[(from >>> 2) + i]!;
  }

  /** Makes the pool empty, and gives memory back that only an uncommonly large run needed. */
  reset(): void {
    this.#end = MESSAGES_AT;
    this.#waiting.fill(0);
    if (this.#compressor.bytes.length > MEMORY_BYTES_RETAINED_MAX) this.#compressor = this.#freshCompressor();
  }

  #freshCompressor(): Compressor {
    const compressor = this.#makeCompressor();
    compressor.grow(MEMORY_BYTES_INITIAL);
    return compressor;
  }

  #wait(at: number, to: number, blocks: number): void {
    const waiting = this.#waiting[blocks]!;
    const lane = blocks * LANES;
    this.#waitingAt[lane + waiting] = at;
    this.#waitingTo[lane + waiting] = to;
    this.#waiting[blocks] = waiting + 1;
    if (waiting + 1 < LANES) return;
    this.#hashFour(lane, blocks);
    this.#waiting[blocks] = 0;
  }

  #hashFour(lane: number, blocks: number): void {
    const to = this.#waitingTo;
    const at = this.#waitingAt;
    this.#compressor.compress4!(
      to[lane]!,
      to[lane + 1]!,
      to[lane + 2]!,
      to[lane + 3]!,
      at[lane]!,
      at[lane + 1]!,
      at[lane + 2]!,
      at[lane + 3]!,
      blocks,
    );
  }
}
