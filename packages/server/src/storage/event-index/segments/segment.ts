// Reads a segment of the store: looks up terms in its dictionaries, and reads its columns. Blocks come from a cache or from the store;
// those that are asked for at the same time are read together.

import { ByteReader, type ByteWriter, compareBytes } from './bytes.ts';
import { widthOf } from './column-writer.ts';
import { EntryReader, type List } from './dictionary.ts';
import { DocSet } from './doc-set.ts';
import {
  BLOCK_BYTES,
  COLUMN_DOCS,
  type Footer,
  isDense,
  type NumberColumn,
  type OrderName,
  type ValueColumn,
} from './segment-format.ts';
import {
  allOf,
  type Awaitable,
  type ReadValue,
  type Searched,
  type TermEntry,
  type VisitEntry,
} from './searched.ts';
import { type Section, SECTIONS } from './terms.ts';

/** The blocks of one segment, decoded. What a block is decoded into is kept with it. */
export interface Blocks {
  read<T>(block: number, section: Section | undefined, decode: (raw: Buffer) => T): Awaitable<T>;
}

interface StoredEntry extends TermEntry {
  readonly docs: List;
  readonly places: List | undefined;
  /** The block that it was read from. */
  readonly raw: Buffer;
}

interface Root {
  readonly firstTerms: readonly string[];
  readonly blocks: readonly number[];
  readonly postings: readonly number[];
  readonly places: readonly number[];
}

export class Segment implements Searched {
  readonly footer: Footer;
  readonly minMs: number;
  readonly maxMs: number;
  readonly #blocks: Blocks;

  constructor(footer: Footer, blocks: Blocks) {
    this.footer = footer;
    this.#blocks = blocks;
    const times = footer.columns.atMs ?? [];
    this.minMs = times.reduce((min, block) => Math.min(min, block.min!), Infinity);
    this.maxMs = times.reduce((max, block) => Math.max(max, block.max!), -Infinity);
  }

  get firstIndex(): number {
    return this.footer.firstIndex;
  }

  get docs(): number {
    return this.footer.docs;
  }

  get sections(): readonly Section[] {
    return SECTIONS.filter((section) => this.footer.sections[section] !== undefined);
  }

  get traits(): Searched['traits'] {
    return this.footer.traits;
  }

  async term(section: Section, term: string): Promise<TermEntry | undefined> {
    let found: TermEntry | undefined;
    await this.#eachFrom(section, term, (entry) => {
      if (entry.term === term) found = entry;
      return false;
    });
    return found;
  }

  async run(section: Section, prefix: string, visit: VisitEntry, from = prefix): Promise<void> {
    await this.#eachFrom(section, from, (entry) => entry.term.startsWith(prefix) && visit(entry));
  }

  /** Those whose lists are beside their terms without waiting: a run has many of them. */
  async docsOf(section: Section, entries: readonly StoredEntry[]): Promise<DocSet[]> {
    const sets = entries.map((entry) =>
      entry.docs.isInline
        ? this.#docsIn(entry, inlined(entry.raw, entry.docs))
        : this.#list(section, entry.docs, 'postings').then((bytes) => this.#docsIn(entry, bytes)),
    );
    return allOf(sets);
  }

  async placesOf(section: Section, { count, places, raw }: StoredEntry): Promise<number[][]> {
    if (places === undefined) return [];
    const bytes = places.isInline ? inlined(raw, places) : await this.#list(section, places, 'places');
    const reader = new ByteReader(bytes);
    const ofDocs: number[][] = [];
    for (let i = 0; i < count; i++) {
      const own: number[] = [];
      let last = 0;
      for (let left = reader.varint(); left > 0; left--) own.push((last += reader.varint()));
      ofDocs.push(own);
    }
    return ofDocs;
  }

  /** Zero everywhere where there is no such column. */
  numbers(column: NumberColumn, block: number): Awaitable<Float64Array> {
    const blocks = this.footer.columns[column];
    const length = Math.min(COLUMN_DOCS, this.docs - block * COLUMN_DOCS);
    if (blocks === undefined) return new Float64Array(length);
    return this.#blocks.read(blocks[block]!.block, undefined, (raw) => numbersIn(raw, length));
  }

  boundsOf(column: NumberColumn, block: number): { readonly min: number; readonly max: number } {
    const { min = 0, max = 0 } = this.footer.columns[column]?.[block] ?? {};
    return { min, max };
  }

  traitsIn(block: number): Awaitable<Uint8Array> {
    return this.#blocks.read(this.footer.columns.traits![block]!.block, undefined, (raw) => raw);
  }

  eventIds(block: number): Awaitable<Buffer> {
    return this.#blocks.read(this.footer.columns.eventId![block]!.block, undefined, (raw) => raw);
  }

  valuePlaces(column: ValueColumn, block: number): Awaitable<ArrayLike<number>> {
    const width = widthOf(this.footer.valueCounts[column]);
    return this.#blocks.read(this.footer.columns[column]![block]!.block, undefined, (raw) =>
      unpacked(raw, width),
    );
  }

  async values(column: ValueColumn): Promise<readonly ReadValue[]> {
    const blocks = this.footer.values[column];
    const read = await allOf(blocks.map(({ block }) => this.#blocks.read(block, undefined, valuesIn)));
    return read.length === 1 ? read[0]! : read.flat();
  }

  order(name: OrderName, block: number): Awaitable<Uint32Array> {
    const blocks = this.footer.orders[name];
    const from = block * COLUMN_DOCS;
    const length = Math.min(COLUMN_DOCS, this.docs - from);
    if (blocks === undefined) return Uint32Array.from({ length }, (_, i) => from + i);
    return this.#blocks.read(blocks[block]!, undefined, (raw) => orderIn(raw, from, length));
  }

  /** All terms of a section, from the lowest, for a merge. */
  cursor(section: Section): SectionCursor {
    return new SectionCursor(this.footer.sections[section], this.docs, (block, decode) =>
      this.#blocks.read(block, section, decode),
    );
  }

  #docsIn({ count }: TermEntry, bytes: Buffer): DocSet {
    const all = this.docs;
    if (count === all) return DocSet.all(all);
    return isDense(count, all)
      ? DocSet.ofBits(all, bitsIn(bytes, all))
      : DocSet.ofList(all, deltasIn(bytes, count));
  }

  /** Terms from one on, while the visitor wants more. */
  async #eachFrom(section: Section, term: string, visit: (entry: StoredEntry) => boolean): Promise<void> {
    const rootBlock = this.footer.sections[section];
    if (rootBlock === undefined) return;
    const { firstTerms, blocks } = await this.#blocks.read(rootBlock, section, rootIn);
    const from = Buffer.from(term, 'latin1');
    const reader = new EntryReader();
    for (let at = Math.max(0, firstAbove(firstTerms, term) - 1); at < blocks.length; at++) {
      reader.open(await this.#blocks.read(blocks[at]!, section, (bytes) => bytes));
      reader.seek(from);
      while (reader.next()) {
        if (compareBytes(reader.term, reader.termLength, from, from.length) < 0) continue;
        if (!visit(entryIn(reader))) return;
      }
    }
  }

  async #list(section: Section, { from, length }: List, stream: 'postings' | 'places'): Promise<Buffer> {
    const root = await this.#blocks.read(this.footer.sections[section]!, section, rootIn);
    const first = Math.floor(from / BLOCK_BYTES);
    const end = Math.ceil((from + length) / BLOCK_BYTES);
    const blocks = root[stream].slice(first, end);
    const pieces = await allOf(blocks.map((block) => this.#blocks.read(block, section, (raw) => raw)));
    const whole = pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces);
    const start = from - first * BLOCK_BYTES;
    return whole.subarray(start, start + length);
  }
}

function entryIn(reader: EntryReader): StoredEntry {
  return {
    term: reader.term.toString('latin1', 0, reader.termLength),
    count: reader.count,
    hasPlaces: reader.hasPlaces,
    docs: reader.docs(),
    places: reader.places(),
    raw: reader.raw,
  };
}

function inlined(raw: Buffer, { from, length }: List): Buffer {
  return raw.subarray(from, from + length);
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
    for (let i = 0, at = from; i < count; i++) {
      let byte = bytes[at++]!;
      let delta = byte & 0x7f;
      for (let shift = 7; byte >= 0x80; shift += 7) {
        byte = bytes[at++]!;
        delta |= (byte & 0x7f) << shift;
      }
      list[to + i] = last += delta;
    }
  }
}

function rootIn(raw: Buffer): Root {
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

function bitsIn(bytes: Buffer, docs: number): Uint32Array {
  const bits = new Uint32Array(Math.ceil(docs / 32));
  new Uint8Array(bits.buffer).set(bytes);
  return bits;
}

function deltasIn(bytes: Buffer, count: number): Uint32Array {
  const reader = new ByteReader(bytes);
  const docs = new Uint32Array(count);
  let last = 0;
  for (let i = 0; i < count; i++) docs[i] = last += reader.varint();
  return docs;
}

function numbersIn(raw: Buffer, count: number): Float64Array {
  const reader = new ByteReader(raw);
  const numbers = new Float64Array(count);
  let last = 0;
  for (let i = 0; i < count; i++) numbers[i] = last += reader.signed();
  return numbers;
}

function orderIn(raw: Buffer, from: number, count: number): Uint32Array {
  const reader = new ByteReader(raw);
  const docs = new Uint32Array(count);
  for (let i = 0; i < count; i++) docs[i] = from + i + reader.signed();
  return docs;
}

function unpacked(raw: Buffer, width: 1 | 2 | 4): ArrayLike<number> {
  if (width === 1) return raw;
  // Copied, since they must begin where their kind of number can.
  const { buffer } = new Uint8Array(raw);
  return width === 2 ? new Uint16Array(buffer) : new Uint32Array(buffer);
}

function valuesIn(raw: Buffer): ReadValue[] {
  const reader = new ByteReader(raw);
  const text = () => reader.bytes(reader.varint()).toString('utf8');
  const label = () => {
    const doc = reader.varint();
    return doc === 0 ? undefined : { doc: doc - 1, text: text() };
  };
  const values: ReadValue[] = [];
  while (!reader.isAtEnd) values.push({ text: text(), label: label(), openLabel: label() });
  return values;
}

function firstAbove(terms: readonly string[], term: string): number {
  let low = 0;
  let high = terms.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (terms[middle]! <= term) low = middle + 1;
    else high = middle;
  }
  return low;
}
