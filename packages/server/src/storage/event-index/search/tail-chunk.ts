// A short piece of the log that is in no segment yet, as a search reads it: what a segment would be made of, read from where
// it is gathered. It grows with the log.

import type { QueriedEvent } from '../../../query/queried-event.ts';
import { orderBy } from '../segments/column-writer.ts';
import { DocSet } from '../segments/doc-set.ts';
import type { ReadValue, Searched, TermEntry, VisitEntry } from '../segments/searched.ts';
import { SegmentBuilder } from '../segments/segment-builder.ts';
import type { NumberColumn, OrderName, ValueColumn } from '../segments/segment-format.ts';
import { type Section, SECTIONS } from '../segments/terms.ts';

interface ChunkEntry extends TermEntry {
  readonly docs: DocSet;
  readonly placed: Int32Array;
}

export class TailChunk implements Searched {
  readonly sections: readonly Section[] = SECTIONS;
  readonly firstIndex: number;
  readonly capacity: number;
  readonly #builder: SegmentBuilder;
  readonly #traits = new Map<number, number>();
  #docs = 0;
  minMs = Infinity;
  maxMs = -Infinity;
  #maxReceivedMs = -Infinity;
  #minReceivedMs = Infinity;

  constructor(firstIndex: number, capacity: number) {
    this.firstIndex = firstIndex;
    this.capacity = capacity;
    this.#builder = new SegmentBuilder(firstIndex, capacity);
  }

  get docs(): number {
    return this.#docs;
  }

  get traits(): Searched['traits'] {
    return [...this.#traits];
  }

  /** The next event of the log; undefined: its content is removed, or it cannot be read. */
  add(event: QueriedEvent | undefined): void {
    const doc = this.#docs;
    if (event !== undefined) {
      this.#builder.add(event, doc);
      const { traits, atMs, receivedMs } = this.#builder.columns;
      this.#traits.set(traits[doc]!, (this.#traits.get(traits[doc]!) ?? 0) + 1);
      this.minMs = Math.min(this.minMs, atMs[doc]!);
      this.maxMs = Math.max(this.maxMs, atMs[doc]!);
      this.#minReceivedMs = Math.min(this.#minReceivedMs, receivedMs[doc]!);
      this.#maxReceivedMs = Math.max(this.#maxReceivedMs, receivedMs[doc]!);
    }
    this.#docs++;
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
    for (const [term, number] of found)
      if (term >= from && !visit(this.#entry(section, term, number))) return;
  }

  docsOf(_section: Section, entries: readonly ChunkEntry[]): DocSet[] {
    return entries.map(({ docs }) => docs);
  }

  placesOf(_section: Section, { count, placed }: ChunkEntry): number[][] {
    const places = Array.from({ length: count }, (): number[] => []);
    for (let i = 0; i < placed.length; i += 2) places[placed[i]!]!.push(placed[i + 1]!);
    return places;
  }

  numbers(column: NumberColumn): Float64Array {
    return this.#builder.columns[column];
  }

  boundsOf(column: NumberColumn): { readonly min: number; readonly max: number } {
    if (column === 'atMs') return { min: this.minMs, max: this.maxMs };
    return { min: this.#minReceivedMs, max: this.#maxReceivedMs };
  }

  traitsIn(): Uint8Array {
    return this.#builder.columns.traits;
  }

  eventIds(): Buffer {
    const { eventId } = this.#builder.columns;
    return Buffer.from(eventId.buffer, eventId.byteOffset, eventId.byteLength);
  }

  valuePlaces(column: ValueColumn): Uint32Array {
    return this.#builder.columns[column];
  }

  values(column: ValueColumn): ReadValue[] {
    return [...this.#builder.values[column]].map(([text, { label, openLabel }]) => ({
      text,
      label,
      openLabel,
    }));
  }

  order(name: OrderName): Uint32Array {
    return (
      orderBy(name, this.#builder.columns, this.#docs) ??
      Uint32Array.from({ length: this.#docs }, (_, doc) => doc)
    );
  }

  #entry(section: Section, term: string, number: number): ChunkEntry {
    const { docs, count, placed, placedLength } = this.#builder.sections[section].docsOf(number);
    return {
      term,
      count,
      hasPlaces: placedLength > 0,
      docs: DocSet.ofList(this.#docs, docs.slice(0, count)),
      placed: placed.slice(0, placedLength),
    };
  }
}
