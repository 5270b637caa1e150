// Writes the terms of a section into blocks, in their order. A term is written as what it does not share with the one
// before it; every sixteenth is written whole, so that a reader can begin there.

import { ByteWriter } from './bytes.ts';
import { BLOCK_BYTES, INLINE_BYTES, isDense, RESTART, type TakeBlock } from './segment-format.ts';
import type { Section } from './terms.ts';

export class SectionWriter {
  readonly #section: Section;
  readonly #docs: number;
  readonly #take: TakeBlock;
  readonly #block = new ByteWriter();
  readonly #restarts: number[] = [];
  /** In the block. */
  #terms = 0;
  #firstTerm = Buffer.alloc(0);
  #lastTerm = Buffer.alloc(256);
  #lastLength = 0;
  readonly #blocks: { readonly block: number; readonly firstTerm: Buffer }[] = [];
  readonly #postings: Stream;
  readonly #places: Stream;
  readonly #list = new ByteWriter();

  constructor(section: Section, docs: number, take: TakeBlock) {
    this.#section = section;
    this.#docs = docs;
    this.#take = take;
    const taken = (raw: Buffer) => take(raw, section);
    this.#postings = new Stream(taken);
    this.#places = new Stream(taken);
  }

  /** Terms come in their order, and the docs of each. */
  term(term: Buffer, length: number, docs: Uint32Array, count: number, places: Uint8Array | undefined): void {
    if (this.#terms === 0) this.#firstTerm = Buffer.from(term.subarray(0, length));
    const block = this.#block;
    const isRestart = this.#terms % RESTART === 0;
    if (isRestart) this.#restart();
    const shared = isRestart ? 0 : this.#sharedWith(term, length);
    block.varint(shared);
    block.varint(length - shared);
    block.bytes(term, shared, length);
    block.varint(count * 2 + (places === undefined ? 0 : 1));
    this.#writeDocs(docs, count);
    if (places !== undefined) writeList(places, block, this.#places);
    this.#remember(term, length);
    this.#terms++;
    if (block.length >= BLOCK_BYTES) this.#end();
  }

  /** The block of the section's root; undefined where it has no terms. */
  end(): number | undefined {
    this.#end();
    if (this.#blocks.length === 0) return undefined;
    const root = new ByteWriter();
    root.varint(this.#blocks.length);
    for (const { block, firstTerm } of this.#blocks) {
      root.varint(block);
      root.varint(firstTerm.length);
      root.bytes(firstTerm);
    }
    for (const blocks of [this.#postings.end(), this.#places.end()]) {
      root.varint(blocks.length);
      for (const block of blocks) root.varint(block);
    }
    return this.#take(root.take(), this.#section);
  }

  /** How much of the term before it begins as this one does. */
  #sharedWith(term: Buffer, length: number): number {
    const last = this.#lastTerm;
    const end = Math.min(this.#lastLength, length);
    let shared = 0;
    while (shared < end && last[shared] === term[shared]) shared++;
    return shared;
  }

  #remember(term: Buffer, length: number): void {
    if (length > this.#lastTerm.length) this.#lastTerm = Buffer.alloc(2 * length);
    for (let i = 0; i < length; i++) this.#lastTerm[i] = term[i]!;
    this.#lastLength = length;
  }

  #restart(): void {
    this.#restarts.push(this.#block.length);
    this.#block.varint(this.#postings.length);
    this.#block.varint(this.#places.length);
  }

  #writeDocs(docs: Uint32Array, count: number): void {
    const list = this.#list;
    list.length = 0;
    if (count === this.#docs) return writeList(list.written(), this.#block, this.#postings);
    if (isDense(count, this.#docs)) {
      const bits = new Uint8Array(Math.ceil(this.#docs / 8));
      for (let i = 0; i < count; i++) bits[docs[i]! >>> 3]! |= 1 << (docs[i]! & 7);
      return writeList(bits, this.#block, this.#postings);
    }
    let last = 0;
    for (let i = 0; i < count; i++) {
      list.varint(docs[i]! - last);
      last = docs[i]!;
    }
    writeList(list.written(), this.#block, this.#postings);
  }

  #end(): void {
    if (this.#terms === 0) return;
    const block = this.#block;
    for (const restart of this.#restarts) block.uint32(restart);
    block.uint32(this.#restarts.length);
    this.#blocks.push({ block: this.#take(block.take(), this.#section), firstTerm: this.#firstTerm });
    this.#restarts.length = 0;
    this.#terms = 0;
  }
}

/** Beside its term where it is short. A reader knows where the others are: they follow each other. */
function writeList(list: Uint8Array, block: ByteWriter, stream: Stream): void {
  const isInline = list.length <= INLINE_BYTES;
  block.varint(list.length * 2 + (isInline ? 0 : 1));
  if (isInline) block.bytes(list);
  else stream.bytes(list);
}

/** Bytes that are cut into blocks wherever one is full. */
class Stream {
  /** Of all that was written. */
  length = 0;
  readonly #take: (raw: Buffer) => number;
  readonly #blocks: number[] = [];
  readonly #open = new ByteWriter();

  constructor(take: (raw: Buffer) => number) {
    this.#take = take;
  }

  bytes(bytes: Uint8Array): void {
    this.length += bytes.length;
    for (let from = 0; from < bytes.length; ) {
      const end = Math.min(bytes.length, from + BLOCK_BYTES - this.#open.length);
      this.#open.bytes(bytes, from, end);
      from = end;
      if (this.#open.length === BLOCK_BYTES) this.#blocks.push(this.#take(this.#open.take()));
    }
  }

  end(): readonly number[] {
    if (this.#open.length > 0) this.#blocks.push(this.#take(this.#open.take()));
    return this.#blocks;
  }
}
