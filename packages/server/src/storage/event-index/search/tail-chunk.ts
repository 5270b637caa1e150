// A short piece of the log that is in no segment yet, as a search reads it: what a segment would be made of, read from where
// it is gathered. It grows with the log.

import type { QueriedEvent } from '../../../query/queried-event.ts';
import { orderBy } from '../segments/column-writer.ts';
import { DocSet, DocSetBuilder, lowerBound } from '../segments/doc-set.ts';
import type {
  PlacesInDocs,
  ReadValue,
  Searched,
  TermEntry,
  TermRun,
  VisitEntry,
} from '../segments/searched.ts';
import { SegmentBuilder } from '../segments/segment-builder.ts';
import type { NumberColumn, OrderName, ValueColumn } from '../segments/segment-format.ts';
import type { Section } from '../segments/terms.ts';

/** So many take a few milliseconds. */
const TERMS_UNCHECKED = 4096;

interface ChunkEntry extends TermEntry {
  readonly docs: DocSet;
  readonly placed: Int32Array;
}

/** Events as they are added, one behind the other. */
export class TailChunk {
  readonly firstIndex: number;
  readonly builder: SegmentBuilder;
  readonly #capacity: number;
  readonly #traits = new Map<number, number>();
  #docs = 0;
  readonly #atMs = { min: Infinity, max: -Infinity };
  readonly #receivedMs = { min: Infinity, max: -Infinity };

  constructor(firstIndex: number, capacity: number) {
    this.firstIndex = firstIndex;
    this.#capacity = capacity;
    this.builder = new SegmentBuilder(firstIndex, capacity);
  }

  get isFull(): boolean {
    return this.#docs === this.#capacity;
  }

  get docs(): number {
    return this.#docs;
  }

  /** The next event of the log; undefined: its content is removed, or it cannot be read. */
  add(event: QueriedEvent | undefined): void {
    const doc = this.#docs;
    if (event !== undefined) {
      this.builder.add(event, doc);
      const { traits, atMs, receivedMs } = this.builder.columns;
      this.#traits.set(traits[doc]!, (this.#traits.get(traits[doc]!) ?? 0) + 1);
      widen(this.#atMs, atMs[doc]!);
      widen(this.#receivedMs, receivedMs[doc]!);
    }
    this.#docs++;
  }

  /** All that was added until now; what comes later is not in it. */
  searched(): Searched {
    return new ChunkUntilNow(this, { atMs: { ...this.#atMs }, receivedMs: { ...this.#receivedMs } }, [
      ...this.#traits,
    ]);
  }
}

interface NumberBounds {
  min: number;
  max: number;
}

function widen(bounds: NumberBounds, value: number): void {
  bounds.min = Math.min(bounds.min, value);
  bounds.max = Math.max(bounds.max, value);
}

class ChunkUntilNow implements Searched {
  readonly firstIndex: number;
  readonly docs: number;
  readonly traits: Searched['traits'];
  readonly #builder: SegmentBuilder;
  readonly #bounds: Readonly<Record<'atMs' | 'receivedMs', NumberBounds>>;

  constructor(
    { firstIndex, docs, builder }: TailChunk,
    bounds: Readonly<Record<'atMs' | 'receivedMs', NumberBounds>>,
    traits: Searched['traits'],
  ) {
    this.firstIndex = firstIndex;
    this.docs = docs;
    this.traits = traits;
    this.#builder = builder;
    this.#bounds = bounds;
  }

  get minMs(): number {
    return this.#bounds.atMs.min;
  }

  get maxMs(): number {
    return this.#bounds.atMs.max;
  }

  term(section: Section, term: string): TermEntry | undefined {
    const number = this.#builder.sections[section].find(Buffer.from(term, 'latin1'));
    return number === undefined ? undefined : this.#entry(section, term, number);
  }

  run(section: Section, prefix: string, visit: VisitEntry, from = prefix): void {
    const found: [term: string, number: number][] = [];
    for (const { term, number } of this.#builder.sections[section].beginningWith(
      Buffer.from(prefix, 'latin1'),
    ))
      found.push([term.toString('latin1'), number]);
    found.sort(([a], [b]) => (a < b ? -1 : 1));
    for (const [term, number] of found) {
      const entry = term >= from ? this.#entry(section, term, number) : undefined;
      if (entry !== undefined && !visit(entry)) return;
    }
  }

  docsInRun(section: Section, run: TermRun, check: () => void): DocSet {
    const { prefix, from = prefix, below, isAsked = () => true } = run;
    const table = this.#builder.sections[section];
    const union = new DocSetBuilder(this.docs);
    let visited = 0;
    for (const { term, number } of table.beginningWith(Buffer.from(prefix, 'latin1'))) {
      if (visited++ % TERMS_UNCHECKED === 0) check();
      const text = term.toString('latin1');
      if (text < from || (below !== undefined && text >= below) || !isAsked(text)) continue;
      const { docs, count } = table.docsOf(number);
      for (let i = 0; i < count && docs[i]! < this.docs; i++) union.add(docs[i]!);
    }
    return union.take();
  }

  docsOf(_section: Section, entries: readonly ChunkEntry[]): DocSet[] {
    return entries.map(({ docs }) => docs);
  }

  placesOf(_section: Section, { docs, placed }: ChunkEntry, among: Uint32Array): PlacesInDocs {
    const list = docs.list();
    const places = new Uint32Array(placed.length / 2);
    const ends = new Uint32Array(among.length);
    let [at, end, place] = [0, 0, 0];
    for (let i = 0; i < list.length; i++) {
      const isAsked = list[i] === among[place];
      for (; at < placed.length && placed[at] === i; at += 2) if (isAsked) places[end++] = placed[at + 1]!;
      if (isAsked) ends[place++] = end;
    }
    return { places, ends };
  }

  numbers(column: NumberColumn): Float64Array {
    return this.#builder.columns[column].subarray(0, this.docs);
  }

  boundsOf(column: NumberColumn): NumberBounds {
    return this.#bounds[column === 'receivedMs' ? 'receivedMs' : 'atMs'];
  }

  traitsIn(): Uint8Array {
    return this.#builder.columns.traits.subarray(0, this.docs);
  }

  eventIds(): Buffer {
    const { eventId } = this.#builder.columns;
    return Buffer.from(eventId.buffer, eventId.byteOffset, eventId.byteLength);
  }

  valuePlaces(column: ValueColumn): Uint32Array {
    return this.#builder.columns[column].subarray(0, this.docs);
  }

  values(column: ValueColumn): ReadValue[] {
    return [...this.#builder.values[column]].map(([text, { label, openLabel }]) => ({
      text,
      label,
      openLabel,
    }));
  }

  order(name: OrderName): Uint32Array {
    const order = orderBy(name, this.#builder.columns, this.docs);
    return order ?? Uint32Array.from({ length: this.docs }, (_, doc) => doc);
  }

  /** Undefined where only events that came later have it. */
  #entry(section: Section, term: string, number: number): ChunkEntry | undefined {
    const { docs, count, placed, placedLength } = this.#builder.sections[section].docsOf(number);
    const own = docs.slice(0, lowerBound(docs.subarray(0, count), this.docs));
    if (own.length === 0) return undefined;
    return {
      term,
      count: own.length,
      hasPlaces: placedLength > 0,
      docs: DocSet.ofList(this.docs, own),
      placed: placed.slice(0, placedLength),
    };
  }
}
