// Goes through all terms of a section, for a merge, and keeps no more than a block of each of its parts.

import { ByteReader, type ByteWriter } from './bytes.ts';
import { type AsDamage, requireSound } from './decoded.ts';
import { EntryReader } from './dictionary.ts';
import type { Awaitable } from './searched.ts';
import { BLOCK_BYTES, BLOCKS_MAX, isDense } from './segment-format.ts';

/** Where the blocks of a section are. */
export interface SectionRoot {
  readonly firstTerms: readonly string[];
  readonly blocks: readonly number[];
  readonly postings: readonly number[];
  readonly places: readonly number[];
}

export function rootIn(raw: Buffer): SectionRoot {
  const reader = new ByteReader(raw);
  const blockNumber = () => {
    const block = reader.varint();
    requireSound(block < BLOCKS_MAX, 'a list of blocks with one that is none of the segment');
    return block;
  };
  const count = reader.count();
  const blocks: number[] = [];
  const firstTerms: string[] = [];
  for (let i = 0; i < count; i++) {
    blocks.push(blockNumber());
    firstTerms.push(reader.term(reader.varint()));
  }
  const stream = () => Array.from({ length: reader.count() }, blockNumber);
  const root = { blocks, firstTerms, postings: stream(), places: stream() };
  reader.end();
  return root;
}

type ReadBlock = <T>(block: number, decode: (raw: Buffer) => T) => Awaitable<T>;

/** Goes through the terms of a section one by one. Most of them are at hand; where a block must be read first, it says so. */
export class SectionCursor {
  readonly entry: EntryReader;
  /** False behind the last. */
  isOpen = false;
  readonly #root: number | undefined;
  readonly #docs: number;
  readonly #read: ReadBlock;
  readonly #asDamage: AsDamage;
  readonly #postings: StreamCursor;
  readonly #places: StreamCursor;
  #blocks: readonly number[] = [];
  #next = 0;

  constructor(root: number | undefined, docs: number, read: ReadBlock, asDamage: AsDamage) {
    this.entry = new EntryReader(asDamage);
    this.#root = root;
    this.#docs = docs;
    this.#read = read;
    this.#asDamage = asDamage;
    this.#postings = new StreamCursor(read, asDamage);
    this.#places = new StreamCursor(read, asDamage);
  }

  async open(): Promise<void> {
    if (this.#root === undefined) return;
    const { blocks, postings, places } = await this.#read(this.#root, rootIn);
    this.#blocks = blocks;
    this.#postings.blocks = postings;
    this.#places.blocks = places;
    await this.#advanceBlock();
  }

  /** Adds the docs to a list at `to`, each `by` further. */
  addDocs(list: Uint32Array, to: number, by: number): Awaitable<void> {
    const { raw, docsFrom, docsLength, isDocsInline } = this.entry;
    if (isDocsInline) return this.#addDocs(raw, docsFrom, list, to, by);
    return this.#postings.take(docsFrom, docsLength).then((bytes) => this.#addDocs(bytes, 0, list, to, by));
  }

  #addDocs(bytes: Buffer, from: number, list: Uint32Array, to: number, by: number): void {
    const { count, docsLength } = this.entry;
    try {
      addDocs(bytes, from, from + docsLength, count, this.#docs, list, to, by);
    } catch (error) {
      throw this.#asDamage(error);
    }
  }

  addPlaces(to: ByteWriter): Awaitable<void> {
    const { raw, placesFrom, placesLength, isPlacesInline } = this.entry;
    if (isPlacesInline) return to.bytes(raw, placesFrom, placesFrom + placesLength);
    return this.#places.take(placesFrom, placesLength).then((bytes) => to.bytes(bytes));
  }

  advance(): Awaitable<void> {
    return this.entry.next() ? undefined : this.#advanceBlock();
  }

  async #advanceBlock(): Promise<void> {
    this.isOpen = this.#next < this.#blocks.length;
    if (!this.isOpen) return;
    this.entry.open(await this.#read(this.#blocks[this.#next++]!, (bytes) => bytes));
    this.entry.next();
  }
}

/** Takes the pieces of a stream in their order, and keeps no more than the block that it is in. */
class StreamCursor {
  blocks: readonly number[] = [];
  readonly #read: ReadBlock;
  readonly #asDamage: AsDamage;
  #current = -1;
  #raw: Buffer = Buffer.alloc(0);

  constructor(read: ReadBlock, asDamage: AsDamage) {
    this.#read = read;
    this.#asDamage = asDamage;
  }

  async take(from: number, length: number): Promise<Buffer> {
    const pieces: Buffer[] = [];
    for (let at = from; at < from + length; ) {
      const block = Math.floor(at / BLOCK_BYTES);
      if (block !== this.#current) {
        const number = this.blocks[block];
        if (number === undefined) throw this.#tooShort();
        this.#raw = await this.#read(number, (bytes) => bytes);
        this.#current = block;
      }
      const start = at - block * BLOCK_BYTES;
      const piece = this.#raw.subarray(start, Math.min(this.#raw.length, start + from + length - at));
      if (piece.length === 0) throw this.#tooShort();
      pieces.push(piece);
      at += piece.length;
    }
    return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces);
  }

  /** Somebody has taken a block away, or made it shorter. */
  #tooShort(): unknown {
    return this.#asDamage(new Error('a list of the index ends too soon'));
  }
}

function addDocs(
  bytes: Buffer,
  from: number,
  end: number,
  count: number,
  docs: number,
  list: Uint32Array,
  to: number,
  by: number,
): void {
  requireSound(count <= docs, 'a term that more docs have than there are');
  if (count === docs) {
    for (let doc = 0; doc < docs; doc++) list[to + doc] = doc + by;
  } else if (isDense(count, docs)) {
    let at = to;
    requireSound(end - from === Math.ceil(docs / 8), 'a list of docs of another length');
    for (let doc = 0; doc < docs; doc++)
      if ((bytes[from + (doc >>> 3)]! & (1 << (doc & 7))) !== 0) list[at++] = doc + by;
    requireSound(at - to === count, 'a list of other docs than it says');
  } else {
    let last = by;
    let at = from;
    for (let i = 0; i < count; i++) {
      let byte = bytes[at++]!;
      let delta = byte & 0x7f;
      for (let shift = 7; byte >= 0x80; shift += 7) {
        byte = bytes[at++]!;
        delta |= (byte & 0x7f) << shift;
      }
      if (delta < 1 && i > 0) throw new Error('a list of the index is not in order');
      list[to + i] = last += delta;
    }
    requireSound(at === end, 'a list of docs of another length');
    requireSound(count === 0 || (last >= by && last - by < docs), 'a list with docs that are none');
  }
}
