// Reads the blocks of a dictionary, term by term. Terms are bytes here, since a merge goes through millions of them.

import { compareBytes } from './bytes.ts';
import { type AsDamage, decoded, requireSound } from './decoded.ts';

/** Where the docs of a term, or its places, are: bytes of the block itself, or of a stream beside it. */
export interface List {
  readonly isInline: boolean;
  readonly from: number;
  readonly length: number;
}

/** One entry after the other; what it says is of the one that was read last. */
export class EntryReader {
  /** The first `termLength` bytes of it. */
  term: Buffer = Buffer.allocUnsafe(256);
  termLength = 0;
  count = 0;
  hasPlaces = false;
  docsFrom = 0;
  docsLength = 0;
  isDocsInline = false;
  placesFrom = 0;
  placesLength = 0;
  isPlacesInline = false;
  raw: Buffer = Buffer.alloc(0);
  #restarts = 0;
  #restartsAt = 0;
  #restart = 0;
  #at = 0;
  #end = 0;
  #postingsAt = 0;
  #placesAt = 0;
  readonly #asDamage: AsDamage;

  constructor(asDamage: AsDamage) {
    this.#asDamage = asDamage;
  }

  /** From its first entry. */
  open(raw: Buffer): void {
    decoded(() => {
      this.raw = raw;
      this.#restarts = raw.readUInt32LE(raw.length - 4);
      this.#restartsAt = raw.length - 4 - 4 * this.#restarts;
      requireSound(this.#restarts > 0 && this.#restartsAt > 0, 'a block of terms without any');
      this.#begin(0);
    }, this.#asDamage);
  }

  /** So that the next entry is, or comes before, the first one that is not below. */
  seek(term: Buffer): void {
    decoded(() => {
      let low = 0;
      let high = this.#restarts;
      while (low < high) {
        const middle = (low + high) >>> 1;
        this.#begin(middle);
        this.#next();
        if (compareBytes(this.term, this.termLength, term, term.length) <= 0) low = middle + 1;
        else high = middle;
      }
      this.#begin(Math.max(0, low - 1));
    }, this.#asDamage);
  }

  /** False at the end of the block. A merge calls it for millions of terms, so nothing is made for the call. */
  next(): boolean {
    try {
      return this.#next();
    } catch (error) {
      throw this.#asDamage(error);
    }
  }

  #next(): boolean {
    if (this.#at === this.#end) {
      if (this.#restart + 1 >= this.#restarts) return false;
      this.#begin(this.#restart + 1);
    }
    const shared = this.#varint();
    const length = this.#varint();
    const { raw } = this;
    const isAbove = shared === this.termLength || raw[this.#at]! > this.term[shared]!;
    if (shared > this.termLength || length === 0 || this.#at + length > this.#end || !isAbove)
      throw new Error('a term of the index is not what comes next');
    if (shared + length > this.term.length) this.#growTerm(shared + length);
    const { term } = this;
    for (let i = 0, at = this.#at; i < length; i++) term[shared + i] = raw[at + i]!;
    this.#at += length;
    this.termLength = shared + length;
    const counted = this.#varint();
    this.count = Math.floor(counted / 2);
    this.hasPlaces = counted % 2 === 1;
    const docs = this.#varint();
    this.docsLength = Math.floor(docs / 2);
    this.isDocsInline = docs % 2 === 0;
    this.docsFrom = this.isDocsInline ? this.#at : this.#postingsAt;
    if (this.isDocsInline) this.#at += this.docsLength;
    else this.#postingsAt += this.docsLength;
    if (this.hasPlaces) this.#readPlaces();
    if (this.#at > this.#end) throw new Error('a block of the index ends too soon');
    return true;
  }

  #readPlaces(): void {
    const places = this.#varint();
    this.placesLength = Math.floor(places / 2);
    this.isPlacesInline = places % 2 === 0;
    this.placesFrom = this.isPlacesInline ? this.#at : this.#placesAt;
    if (this.isPlacesInline) this.#at += this.placesLength;
    else this.#placesAt += this.placesLength;
  }

  docs(): List {
    return { isInline: this.isDocsInline, from: this.docsFrom, length: this.docsLength };
  }

  places(): List | undefined {
    if (!this.hasPlaces) return undefined;
    return { isInline: this.isPlacesInline, from: this.placesFrom, length: this.placesLength };
  }

  #begin(restart: number): void {
    this.#restart = restart;
    this.#at = this.raw.readUInt32LE(this.#restartsAt + 4 * restart);
    this.#end =
      restart + 1 < this.#restarts
        ? this.raw.readUInt32LE(this.#restartsAt + 4 * (restart + 1))
        : this.#restartsAt;
    // The first one is written whole.
    this.termLength = 0;
    this.#postingsAt = this.#varint();
    this.#placesAt = this.#varint();
    const isWithin = this.#at < this.#end && this.#end <= this.#restartsAt;
    requireSound(isWithin, 'a block of terms that is cut otherwise than it was written');
  }

  #varint(): number {
    const { raw } = this;
    const first = raw[this.#at++]!;
    if (first < 0x80) return first;
    let value = first & 0x7f;
    for (let factor = 0x80; ; factor *= 0x80) {
      const next = raw[this.#at++];
      if (next === undefined) throw new Error('a block of the index ends too soon');
      value += (next & 0x7f) * factor;
      if (value > Number.MAX_SAFE_INTEGER) throw new Error('a number of the index is too large');
      if (next < 0x80) return value;
    }
  }

  #growTerm(length: number): void {
    const larger = Buffer.allocUnsafe(2 * length);
    this.term.copy(larger);
    this.term = larger;
  }
}
