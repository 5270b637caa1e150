// Computes the group roots and content hashes of many drafts from their texts and seeds, before the log is involved.
// Every backend derives its salts in this way:
//
//   salts of a group = the first 16·n bytes of  H( seed ‖ u32 0 ) ‖ H( seed ‖ u32 1 ) ‖ …     n units, by ascending tag
//
// The seed is 16 random bytes, one for each group of each event: as hard to guess as separate salts for every unit, at an
// eighth of the size. Removing it removes the salts, and with them every way to guess a value from its commitment.

import {
  ContentPool,
  type EncodedEvent,
  HashPool,
  fastSha256,
  SALT_BYTES,
  splitGroup,
} from '@tallystick/evidence';

export const SEED_BYTES = 16;
/** Both seeds of an event, concatenated. */
export const SEEDS_BYTES = 2 * SEED_BYTES;

const BLOCK_BYTES = 32;
const MESSAGE_BYTES = SEED_BYTES + 4;
/** The number of events whose salts are derived at once: enough to fill the lanes, few enough to stay in cache. */
const LOT_EVENTS = 64;

export type TextBytes = readonly [Uint8Array, Uint8Array];

export class Commitments {
  readonly #contents = new ContentPool();
  readonly #saltPool = new HashPool();
  #seeds: Uint8Array = new Uint8Array(0);
  /** Events whose salts are not derived yet, and their two offsets each in the pool. */
  readonly #lot: EncodedEvent[] = [];
  readonly #saltsAt = new Int32Array(2 * LOT_EVENTS);

  /** The number of added events: the position of the next one. */
  get size(): number {
    return this.#contents.size + this.#lot.length;
  }

  /** Clears all events and sets the seeds of the next ones, SEEDS_BYTES each, by position. */
  begin(seeds: Uint8Array): void {
    this.#seeds = seeds;
    this.#lot.length = 0;
    this.#saltPool.reset();
    this.#contents.reset();
  }

  /** Adds an event and returns its position; throws EvidenceError for texts that are not groups of an event. */
  add(texts: TextBytes): number {
    const place = this.size;
    const seedsAt = place * SEEDS_BYTES;
    // A short seed would make salts that can be guessed.
    if (seedsAt + SEEDS_BYTES > this.#seeds.length)
      throw new RangeError(`there is no seed for event ${place}`);
    const event: EncodedEvent = [splitGroup(texts[0], 1), splitGroup(texts[1], 2)];
    if (this.#lot.length === LOT_EVENTS) this.#finishLot();
    const inLot = this.#lot.length;
    this.#saltsAt[2 * inLot] = this.#askForSalts(seedsAt, event[0].units.length);
    this.#saltsAt[2 * inLot + 1] = this.#askForSalts(seedsAt + SEED_BYTES, event[1].units.length);
    this.#lot.push(event);
    return place;
  }

  /** Hashes all added events; roots and contents are available afterwards. */
  run(): void {
    this.#finishLot();
    this.#contents.run();
  }

  copySeeds(place: number, into: Uint8Array, at: number): void {
    for (let i = 0; i < SEEDS_BYTES; i++) into[at + i] = this.#seeds[place * SEEDS_BYTES + i]!;
  }

  copyRoot(place: number, group: 1 | 2, into: Uint8Array, at: number): void {
    this.#contents.copyGroupRoot(place, group, into, at);
  }

  copyContent(place: number, into: Uint8Array, at: number): void {
    this.#contents.copyContent(place, into, at);
  }

  #askForSalts(seedAt: number, units: number): number {
    const pool = this.#saltPool;
    const seeds = this.#seeds;
    const blocks = Math.ceil((units * SALT_BYTES) / BLOCK_BYTES);
    const saltsAt = pool.room(blocks * BLOCK_BYTES);
    for (let block = 0; block < blocks; block++) {
      const at = pool.room(MESSAGE_BYTES);
      const { bytes } = pool;
      for (let i = 0; i < SEED_BYTES; i++) bytes[at + i] = seeds[seedAt + i]!;
      for (let i = 0; i < 4; i++) bytes[at + SEED_BYTES + i] = block >>> (24 - 8 * i);
      pool.hash(at, MESSAGE_BYTES, saltsAt + block * BLOCK_BYTES);
    }
    return saltsAt;
  }

  #finishLot(): void {
    const pool = this.#saltPool;
    pool.run();
    for (let place = 0; place < this.#lot.length; place++) {
      const event = this.#lot[place]!;
      const one = this.#saltsAt[2 * place]!;
      const two = this.#saltsAt[2 * place + 1]!;
      this.#contents.addEncoded(event, [
        pool.bytes.subarray(one, one + event[0].units.length * SALT_BYTES),
        pool.bytes.subarray(two, two + event[1].units.length * SALT_BYTES),
      ]);
    }
    this.#lot.length = 0;
    pool.reset();
  }
}

/** The salts of one group, to show or verify a single event. */
export function saltsOf(seed: Uint8Array, units: number): Uint8Array {
  const salts = new Uint8Array(units * SALT_BYTES);
  for (let block = 0; block * BLOCK_BYTES < salts.length; block++) {
    const number = Uint8Array.of(block >>> 24, block >>> 16, block >>> 8, block);
    const bytes = fastSha256(seed, number);
    const at = block * BLOCK_BYTES;
    salts.set(bytes.subarray(0, Math.min(BLOCK_BYTES, salts.length - at)), at);
  }
  return salts;
}
