// Reads a segment of the store: looks up terms in its dictionaries, and reads its columns. Blocks come from a cache or from the store;
// those that are asked for at the same time are read together.

import {
  docSetIn,
  numbersIn,
  ofLength,
  orderIn,
  placesIn,
  valuePlacesIn,
  valuesIn,
} from './block-decoders.ts';
import { compareBytes } from './bytes.ts';
import { EVENT_ID_BYTES } from './column-writer.ts';
import { AS_IT_IS, type AsDamage, decoded, requireSound } from './decoded.ts';
import { EntryReader, type List } from './dictionary.ts';
import { DocSet, DocSetBuilder } from './doc-set.ts';
import {
  BLOCK_BYTES,
  COLUMN_DOCS,
  type Footer,
  type NumberColumn,
  type OrderName,
  type ValueColumn,
} from './segment-format.ts';
import {
  allOf,
  type Awaitable,
  type PlacesInDocs,
  type ReadValue,
  type Searched,
  type TermEntry,
  type TermRun,
  type VisitEntry,
} from './searched.ts';
import { rootIn, SectionCursor } from './section-cursor.ts';
import type { Section } from './terms.ts';

/** The blocks of one segment, decoded. What a block is decoded into is kept with it. */
export interface Blocks {
  read<T>(block: number, section: Section | undefined, decode: (raw: Buffer) => T): Awaitable<T>;
}

/** So many terms of a run are looked at together. */
const RUN_PORTION = 8192;
/** So many blocks of a dictionary are read at once, where a run goes through them. */
const READ_AHEAD = 64;

/** A column that is zero everywhere. */
const ZEROS = new Float64Array(COLUMN_DOCS);

interface StoredEntry extends TermEntry {
  readonly docs: List;
  readonly places: List | undefined;
  /** The block that it was read from. */
  readonly raw: Buffer;
}

export class Segment implements Searched {
  readonly footer: Footer;
  readonly minMs: number;
  readonly maxMs: number;
  readonly #blocks: Blocks;
  readonly #asDamage: AsDamage;

  constructor(footer: Footer, blocks: Blocks, asDamage = AS_IT_IS) {
    this.footer = footer;
    this.#blocks = blocks;
    this.#asDamage = asDamage;
    const times = footer.columns.atMs ?? [];
    this.minMs = times.reduce((min, block) => Math.min(min, block.min ?? Infinity), Infinity);
    this.maxMs = times.reduce((max, block) => Math.max(max, block.max ?? -Infinity), -Infinity);
  }

  get firstIndex(): number {
    return this.footer.firstIndex;
  }

  get docs(): number {
    return this.footer.docs;
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
    const isIn = (term: string) => term.startsWith(prefix);
    await this.#eachFrom(section, from, (entry) => isIn(entry.term) && visit(entry), isIn);
  }

  async docsInRun(section: Section, run: TermRun, check: () => void): Promise<DocSet> {
    const { prefix, from = prefix, below, isAsked = () => true } = run;
    const union = new DocSetBuilder(this.docs);
    for (let next: string | undefined = from; next !== undefined; ) {
      check();
      const asked: StoredEntry[] = [];
      const begin: string = next;
      let visited = 0;
      next = undefined;
      await this.run(
        section,
        prefix,
        (entry) => {
          if (below !== undefined && entry.term >= below) return false;
          if (visited++ === RUN_PORTION) {
            next = entry.term;
            return false;
          }
          if (isAsked(entry.term)) asked.push(entry as StoredEntry);
          return true;
        },
        begin,
      );
      for (const docs of await this.docsOf(section, asked)) union.addSet(docs);
    }
    return union.take();
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

  async placesOf(section: Section, entry: StoredEntry, among: Uint32Array): Promise<PlacesInDocs> {
    const { places, raw } = entry;
    const [docs] = await this.docsOf(section, [entry]);
    const bytes = places!.isInline ? inlined(raw, places!) : await this.#list(section, places!, 'places');
    return decoded(() => placesIn(bytes, docs!.list(), among), this.#asDamage);
  }

  /** Zero everywhere where there is no such column. */
  numbers(column: NumberColumn, block: number): Awaitable<Float64Array> {
    const blocks = this.footer.columns[column];
    const length = this.#docsInBlock(block);
    if (blocks === undefined) return ZEROS.subarray(0, length);
    return this.#blocks.read(blocks[block]!.block, undefined, (raw) => numbersIn(raw, length));
  }

  boundsOf(column: NumberColumn, block: number): { readonly min: number; readonly max: number } {
    const { min = Infinity, max = -Infinity } = this.footer.columns[column]?.[block] ?? { min: 0, max: 0 };
    return { min, max };
  }

  traitsIn(block: number): Awaitable<Uint8Array> {
    const docs = this.#docsInBlock(block);
    return this.#blocks.read(this.footer.columns.traits![block]!.block, undefined, (raw) =>
      ofLength(raw, docs),
    );
  }

  eventIds(block: number): Awaitable<Buffer> {
    const length = this.#docsInBlock(block) * EVENT_ID_BYTES;
    return this.#blocks.read(this.footer.columns.eventId![block]!.block, undefined, (raw) =>
      ofLength(raw, length),
    );
  }

  valuePlaces(column: ValueColumn, block: number): Awaitable<ArrayLike<number>> {
    const values = this.footer.valueCounts[column];
    const docs = this.#docsInBlock(block);
    return this.#blocks.read(this.footer.columns[column]![block]!.block, undefined, (raw) =>
      valuePlacesIn(raw, docs, values),
    );
  }

  async values(column: ValueColumn): Promise<readonly ReadValue[]> {
    const blocks = this.footer.values[column];
    const read = await allOf(blocks.map(({ block }) => this.#blocks.read(block, undefined, valuesIn)));
    const values = read.length === 1 ? read[0]! : read.flat();
    const isWhole = values.length === this.footer.valueCounts[column];
    decoded(() => requireSound(isWhole, 'more or fewer values than it says'), this.#asDamage);
    return values;
  }

  order(name: OrderName, block: number): Awaitable<Uint32Array> {
    const blocks = this.footer.orders[name];
    const from = block * COLUMN_DOCS;
    const length = this.#docsInBlock(block);
    if (blocks === undefined) return Uint32Array.from({ length }, (_, i) => from + i);
    return this.#blocks.read(blocks[block]!, undefined, (raw) => orderIn(raw, from, length, this.docs));
  }

  /** All terms of a section, from the lowest, for a merge. */
  cursor(section: Section): SectionCursor {
    return new SectionCursor(
      this.footer.sections[section],
      this.docs,
      (block, decode) => this.#blocks.read(block, section, decode),
      this.#asDamage,
    );
  }

  /** All have as many but the last. */
  #docsInBlock(block: number): number {
    return Math.min(COLUMN_DOCS, this.docs - block * COLUMN_DOCS);
  }

  #docsIn({ count }: TermEntry, bytes: Buffer): DocSet {
    return decoded(() => docSetIn(bytes, count, this.docs), this.#asDamage);
  }

  /** Terms from one on, while the visitor wants more. Blocks that begin with a term of the run are read together. */
  async #eachFrom(
    section: Section,
    term: string,
    visit: (entry: StoredEntry) => boolean,
    isInRun: (term: string) => boolean = () => false,
  ): Promise<void> {
    const rootBlock = this.footer.sections[section];
    if (rootBlock === undefined) return;
    const { firstTerms, blocks } = await this.#blocks.read(rootBlock, section, rootIn);
    const from = Buffer.from(term, 'latin1');
    const reader = new EntryReader(this.#asDamage);
    let last = '';
    const read = (at: number) => this.#blocks.read(blocks[at]!, section, (bytes) => bytes);
    for (let at = Math.max(0, firstAbove(firstTerms, term) - 1); at < blocks.length; ) {
      const ahead = [read(at)];
      while (
        ahead.length < READ_AHEAD &&
        at + ahead.length < blocks.length &&
        isInRun(firstTerms[at + ahead.length]!)
      )
        ahead.push(read(at + ahead.length));
      for (const raw of await allOf(ahead)) {
        reader.open(raw);
        reader.seek(from);
        while (reader.next()) {
          if (compareBytes(reader.term, reader.termLength, from, from.length) < 0) continue;
          const entry = entryIn(reader);
          // A run that is read in portions would begin again and again.
          if (entry.term <= last) throw this.#asDamage(new Error('terms of the index are out of order'));
          last = entry.term;
          if (!visit(entry)) return;
        }
      }
      at += ahead.length;
    }
  }

  async #list(section: Section, { from, length }: List, stream: 'postings' | 'places'): Promise<Buffer> {
    const root = await this.#blocks.read(this.footer.sections[section]!, section, rootIn);
    const first = Math.floor(from / BLOCK_BYTES);
    const end = Math.ceil((from + length) / BLOCK_BYTES);
    const blocks = root[stream].slice(first, end);
    const pieces = await allOf(blocks.map((block) => this.#blocks.read(block, section, (raw) => raw)));
    const start = from - first * BLOCK_BYTES;
    return decoded(() => {
      const whole = pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces);
      return ofLength(whole.subarray(start, start + length), length);
    }, this.#asDamage);
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
