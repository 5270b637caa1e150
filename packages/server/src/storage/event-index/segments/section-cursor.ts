// Goes through all terms of a section, for a merge, and keeps no more than a block of each of its parts.

import { ByteReader, type ByteWriter } from './bytes.ts';
import { EntryReader } from './dictionary.ts';
import type { Awaitable } from './searched.ts';
import { BLOCK_BYTES, isDense } from './segment-format.ts';

/** Where the blocks of a section are. */
export interface SectionRoot {
  readonly firstTerms: readonly string[];
  readonly blocks: readonly number[];
  readonly postings: readonly number[];
  readonly places: readonly number[];
}

export function rootIn(raw: Buffer): SectionRoot {
  const reader = new ByteReader(raw);
  const count = reader.varint();
  const blocks: number[] = [];
  const firstTerms: string[] = [];
  for (let i = 0; i < count; i++) {
    blocks.push(reader.varint());
    firstTerms.push(reader.term(reader.varint()));
  }
  const stream = () => Array.from({ length: reader.varint() }, () => reader.varint());
  return { blocks, firstTerms, postings: stream(), places: stream() };
}

type ReadBlock = <T>(block: number, decode: (raw: Buffer) => T) => Awaitable<T>;

/** Goes through the terms of a section one by one. Most of them are at hand; where a block must be read first, it says so. */
export class SectionCursor {
  readonly entry = new EntryReader();
  /** False behind the last. */
  isOpen = false;
  readonly #root: number | undefined;
  readonly #docs: number;
  readonly #read: ReadBlock;
  readonly #postings: StreamCursor;
  readonly #places: StreamCursor;
  #blocks: readonly number[] = [];
  #next = 0;

  constructor(root: number | undefined, docs: number, read: ReadBlock) {
    this.#root = root;
    this.#docs = docs;
    this.#read = read;
    this.#postings = new StreamCursor(read);
    this.#places = new StreamCursor(read);
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
    const { raw, count, docsFrom, docsLength, isDocsInline } = this.entry;
    if (isDocsInline) return addDocs(raw, docsFrom, count, this.#docs, list, to, by);
    return this.#postings
      .take(docsFrom, docsLength)
      .then((bytes) => addDocs(bytes, 0, count, this.#docs, list, to, by));
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
  #current = -1;
  #raw: Buffer = Buffer.alloc(0);

  constructor(read: ReadBlock) {
    this.#read = read;
  }

  async take(from: number, length: number): Promise<Buffer> {
    const pieces: Buffer[] = [];
    for (let at = from; at < from + length; ) {
      const block = Math.floor(at / BLOCK_BYTES);
      if (block !== this.#current) {
        this.#raw = await this.#read(this.blocks[block]!, (bytes) => bytes);
        this.#current = block;
      }
      const start = at - block * BLOCK_BYTES;
      const piece = this.#raw.subarray(start, Math.min(this.#raw.length, start + from + length - at));
      // Somebody has made the block shorter.
      if (piece.length === 0) throw new Error('a list of the index ends too soon');
      pieces.push(piece);
      at += piece.length;
    }
    return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces);
  }
}

function addDocs(
  bytes: Buffer,
  from: number,
  count: number,
  docs: number,
  list: Uint32Array,
  to: number,
  by: number,
): void {
  if (count === docs) {
    for (let doc = 0; doc < docs; doc++) list[to + doc] = doc + by;
  } else if (isDense(count, docs)) {
    for (let doc = 0, at = to; doc < docs; doc++)
      if ((bytes[from + (doc >>> 3)]! & (1 << (doc & 7))) !== 0) list[at++] = doc + by;
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
      list[to + i] = last += delta;
    }
    if (at > bytes.length) throw new Error('a list of the index ends too soon');
  }
}
