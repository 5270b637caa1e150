// Counts of what matches, by its properties, from the columns of the docs.

import { type Aggregation, type Aggregations } from '@tallystick/contract';
import { type BucketName, bucketsOf, dayName, frequentOf, hourName } from './buckets.ts';
import type { DocSet } from '../segments/doc-set.ts';
import { allOf, type Awaitable, type ReadValue, type Searched } from '../segments/searched.ts';
import { COLUMN_DOCS, type ValueColumn } from '../segments/segment-format.ts';
import { ALL_TRAITS, type Traits } from '../segments/terms.ts';
import { DAY_MS, HOUR_MS } from '../segments/times.ts';

/** The docs of a piece that are counted. */
export interface Counted {
  readonly piece: Searched;
  readonly docs: DocSet;
}

const VALUES: Readonly<Partial<Record<Aggregation, ValueColumn>>> = {
  byAction: 'action',
  byActor: 'actor',
  byResource: 'resourceType',
};
const TRAITS: Readonly<Partial<Record<Aggregation, keyof Traits>>> = {
  byClassification: 'classification',
  byActorType: 'actorType',
  byOutcome: 'outcome',
};

/**
 * The names of actors that a reader sees: the newest of all events, or of all but secret ones; or, where rules say event by event
 * what is seen, that in the newest event that is counted, which is asked for by its index.
 */
export type ActorNames =
  | 'All'
  | 'Open'
  | ((indexes: readonly number[]) => Promise<readonly (string | undefined)[]>);

/** `seenActors` counts actors in the events themselves, where rules withhold who it was in some. */
export async function aggregate(
  counted: readonly Counted[],
  aggregations: readonly Aggregation[],
  actorNames: ActorNames,
  seenActors?: (counted: readonly Counted[]) => Promise<Counts>,
): Promise<Aggregations> {
  const pieces = counted.filter(({ docs }) => docs.count > 0);
  const countings = aggregations.map((aggregation) => countingOf(aggregation, actorNames));
  for (const { piece, docs } of pieces) await countIn(piece, docs, countings);
  const result: Aggregations = {};
  const otherCount: Partial<Record<Aggregation, number>> = {};
  for (const [i, aggregation] of aggregations.entries()) {
    const isSeen = aggregation === 'byActor' && seenActors !== undefined;
    const { buckets, others } = await countedBuckets(
      aggregation,
      isSeen ? await seenActors(counted) : countings[i]!.counted(),
    );
    result[aggregation] = buckets;
    if (others > 0) otherCount[aggregation] = others;
  }
  if (Object.keys(otherCount).length > 0) result.otherCount = otherCount;
  return result;
}

/** The most frequent of them, and how many the others are. */
async function countedBuckets(aggregation: Aggregation, { counts, namesOf }: Counts) {
  const frequent = frequentOf(aggregation, counts);
  const names = await namesOf(frequent.map(([value]) => value));
  const named = frequent.map(([, count], at) => ({ ...names[at]!, count }));
  return bucketsOf(aggregation, named, counts);
}

/** Goes through blocks of a column, piece by piece. */
interface Counting {
  /** What it needs of a piece beside its blocks. */
  begin(piece: Searched): Awaitable<void>;
  read(piece: Searched, block: number): Awaitable<ArrayLike<number>>;
  /** The first `count` of `docs` are places in the block, whose first doc is `first`. */
  count(block: ArrayLike<number>, docs: Uint16Array, count: number, first: number): void;
  counted(): Counts;
}

export interface Counts {
  readonly counts: ReadonlyMap<string | number, number>;
  readonly namesOf: (values: readonly (string | number)[]) => Awaitable<BucketName[]>;
}

function countingOf(aggregation: Aggregation, actorNames: ActorNames): Counting {
  const column = VALUES[aggregation];
  if (column !== undefined) return new ValueCounting(column, actorNames);
  const trait = TRAITS[aggregation];
  if (trait !== undefined) return new TraitCounting(trait);
  return aggregation === 'byDay' ? new TimeCounting(DAY_MS, dayName) : new TimeCounting(HOUR_MS, hourName);
}

/** The docs of a block, by their places in it. */
const docsInBlock = new Uint16Array(COLUMN_DOCS);

/** The blocks that the docs are in are read at once, of all columns. */
async function countIn(piece: Searched, docs: DocSet, countings: readonly Counting[]): Promise<void> {
  await allOf(countings.map((counting) => counting.begin(piece)));
  const numbers = docs.blocks(COLUMN_DOCS);
  const read = await allOf(
    numbers.map((number) => allOf(countings.map((counting) => counting.read(piece, number)))),
  );
  for (const [i, number] of numbers.entries()) {
    const count = docs.inBlock(number, docsInBlock);
    const first = number * COLUMN_DOCS;
    for (const [at, counting] of countings.entries())
      counting.count(read[i]![at]!, docsInBlock, count, first);
  }
}

class ValueCounting implements Counting {
  readonly #column: ValueColumn;
  readonly #actorNames: ActorNames;
  readonly #pieces: {
    readonly firstIndex: number;
    readonly values: readonly ReadValue[];
    /** By the places of the values. */
    readonly counts: Uint32Array;
    /** The newest doc of each that is counted. */
    readonly newest: Uint32Array;
  }[] = [];

  constructor(column: ValueColumn, actorNames: ActorNames) {
    this.#column = column;
    this.#actorNames = actorNames;
  }

  async begin(piece: Searched): Promise<void> {
    const values = await piece.values(this.#column);
    const { firstIndex } = piece;
    const counts = new Uint32Array(values.length);
    this.#pieces.push({ firstIndex, values, counts, newest: new Uint32Array(values.length) });
  }

  read(piece: Searched, block: number): Awaitable<ArrayLike<number>> {
    return piece.valuePlaces(this.#column, block);
  }

  count(block: ArrayLike<number>, docs: Uint16Array, count: number, first: number): void {
    const { counts, newest } = this.#pieces.at(-1)!;
    for (let i = 0; i < count; i++) counts[block[docs[i]!]!]!++;
    if (typeof this.#actorNames !== 'function' || this.#column !== 'actor') return;
    for (let i = 0; i < count; i++) newest[block[docs[i]!]!] = first + docs[i]!;
  }

  counted(): Counts {
    const counts = new Map<string, number>();
    for (const { values, counts: own } of this.#pieces)
      for (let place = 0; place < own.length; place++) {
        const count = own[place]!;
        if (count === 0) continue;
        const { text } = values[place]!;
        counts.set(text, (counts.get(text) ?? 0) + count);
      }
    return { counts, namesOf: (values) => this.#namesOf(values as readonly string[]) };
  }

  #namesOf(keys: readonly string[]): Awaitable<BucketName[]> {
    if (this.#column !== 'actor') return keys.map((key) => ({ key }));
    return typeof this.#actorNames === 'function'
      ? this.#namesCounted(keys, this.#actorNames)
      : this.#newestNames(keys, this.#actorNames === 'All');
  }

  async #namesCounted(keys: readonly string[], namesAt: Exclude<ActorNames, string>): Promise<BucketName[]> {
    const newest = new Map<string, number>();
    for (const { firstIndex, values, counts, newest: docs } of this.#pieces)
      for (const [place, { text }] of values.entries())
        if (counts[place]! > 0) newest.set(text, Math.max(newest.get(text) ?? -1, firstIndex + docs[place]!));
    const names = await namesAt(keys.map((key) => newest.get(key)!));
    return keys.map((key, i) => (names[i] === undefined ? { key } : { key, label: names[i] }));
  }

  /** Also by a piece in which one is not counted: that may have its newest name. */
  #newestNames(keys: readonly string[], knowsSecrets: boolean): BucketName[] {
    const labels = new Map<string, { text: string; index: number }>(
      keys.map((key) => [key, { text: '', index: -1 }]),
    );
    for (const { firstIndex, values } of this.#pieces)
      for (const { text, label, openLabel } of values) {
        const own = knowsSecrets ? label : openLabel;
        const newest = own === undefined ? undefined : labels.get(text);
        if (newest === undefined || firstIndex + own!.doc <= newest.index) continue;
        newest.text = own!.text;
        newest.index = firstIndex + own!.doc;
      }
    return keys.map((key) => {
      const { text, index } = labels.get(key)!;
      return index < 0 ? { key } : { key, label: text };
    });
  }
}

class TraitCounting implements Counting {
  readonly #trait: keyof Traits;
  readonly #byNumber = new Uint32Array(256);

  constructor(trait: keyof Traits) {
    this.#trait = trait;
  }

  begin(): void {}

  read(piece: Searched, block: number): Awaitable<ArrayLike<number>> {
    return piece.traitsIn(block);
  }

  count(block: ArrayLike<number>, docs: Uint16Array, count: number): void {
    const byNumber = this.#byNumber;
    for (let i = 0; i < count; i++) byNumber[block[docs[i]!]!]!++;
  }

  counted(): Counts {
    const counts = new Map<string, number>();
    for (const [number, traits] of ALL_TRAITS.entries()) {
      const count = this.#byNumber[number]!;
      const value = traits[this.#trait];
      if (count > 0) counts.set(value, (counts.get(value) ?? 0) + count);
    }
    return { counts, namesOf: (values) => values.map((key) => ({ key: String(key) })) };
  }
}

class TimeCounting implements Counting {
  readonly #unitMs: number;
  readonly #nameOf: (unit: number) => BucketName;
  readonly #counts = new Map<number, number>();

  constructor(unitMs: number, nameOf: (unit: number) => BucketName) {
    this.#unitMs = unitMs;
    this.#nameOf = nameOf;
  }

  begin(): void {}

  read(piece: Searched, block: number): Awaitable<ArrayLike<number>> {
    return piece.numbers('atMs', block);
  }

  count(block: ArrayLike<number>, docs: Uint16Array, count: number): void {
    // Most docs are of the unit of the one before.
    let last = NaN;
    let run = 0;
    for (let i = 0; i < count; i++) {
      const unit = Math.floor(block[docs[i]!]! / this.#unitMs);
      if (unit !== last) {
        this.#add(last, run);
        last = unit;
        run = 0;
      }
      run++;
    }
    this.#add(last, run);
  }

  counted(): Counts {
    const namesOf = (units: readonly (string | number)[]) =>
      units.map((unit) => this.#nameOf(unit as number));
    return { counts: this.#counts, namesOf };
  }

  #add(unit: number, count: number): void {
    if (count > 0) this.#counts.set(unit, (this.#counts.get(unit) ?? 0) + count);
  }
}
