// What a search reads of a piece of the log, be it a segment of the store or events that are in none yet.

import type { Label } from './column-writer.ts';
import type { DocSet } from './doc-set.ts';
import type { NumberColumn, OrderName, ValueColumn } from './segment-format.ts';
import type { Section } from './terms.ts';

export interface Searched {
  readonly firstIndex: number;
  readonly docs: number;
  /** Of the timestamps; both infinite the wrong way round where there are none. */
  readonly minMs: number;
  readonly maxMs: number;
  /** Which traits there are, and how many docs have each. */
  readonly traits: readonly (readonly [traits: number, docs: number])[];
  term(section: Section, term: string): Awaitable<TermEntry | undefined>;
  /** The terms that begin so, in their order, from one on, until the visitor says false. */
  run(section: Section, prefix: string, visit: VisitEntry, from?: string): Awaitable<void>;
  /** All that have a term of the run; `check` throws when the time for the search is over. */
  docsInRun(section: Section, run: TermRun, check: () => void): Awaitable<DocSet>;
  /** Of each of these terms. */
  docsOf(section: Section, entries: readonly TermEntry[]): Awaitable<readonly DocSet[]>;
  /** Of these docs, which all have the term, from the lowest. */
  placesOf(section: Section, entry: TermEntry, docs: Uint32Array): Awaitable<PlacesInDocs>;
  /** A block of a column. */
  numbers(column: NumberColumn, block: number): Awaitable<Float64Array>;
  traitsIn(block: number): Awaitable<Uint8Array>;
  /** Sixteen bytes each. */
  eventIds(block: number): Awaitable<Buffer>;
  /** Places in the list of values. */
  valuePlaces(column: ValueColumn, block: number): Awaitable<ArrayLike<number>>;
  values(column: ValueColumn): Awaitable<readonly ReadValue[]>;
  /** A block of the docs in an order. */
  order(name: OrderName, block: number): Awaitable<Uint32Array>;
  /** The lowest and the highest number in a block. */
  boundsOf(column: NumberColumn, block: number): { readonly min: number; readonly max: number };
}

/** At once where it can be. */
export type Awaitable<T> = T | Promise<T>;

/** The places of a word in some docs: those of the first, then those of the second, and so on, each from the lowest. */
export interface PlacesInDocs {
  readonly places: Uint32Array;
  /** Where those of each doc end; none where the word stands alone in its value. */
  readonly ends: Uint32Array;
}

export type VisitEntry = (entry: TermEntry) => boolean;

/** Terms with a beginning. */
export interface TermRun {
  readonly prefix: string;
  /** From one on. */
  readonly from?: string;
  /** To before another. */
  readonly below?: string;
  readonly isAsked?: (term: string) => boolean;
}

/** A term, and how many docs have it. The piece that gave it knows where they are. */
export interface TermEntry {
  readonly term: string;
  readonly count: number;
  readonly hasPlaces: boolean;
}

/** A text that a column's number stands for, and the newest names that go with it. */
export interface ReadValue {
  readonly text: string;
  readonly label: Label | undefined;
  readonly openLabel: Label | undefined;
}

/** All of them, at once where they can be. */
export function allOf<T>(values: readonly Awaitable<T>[]): Promise<T[]> {
  return Promise.all(values.map(async (value) => value));
}
