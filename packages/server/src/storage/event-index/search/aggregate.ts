// Counts of what matches, by its properties, from the columns of the docs.

import { type Aggregation, type Aggregations } from '@tallystick/contract';
import { type BucketName, bucketsOf, dayName, frequentOf, hourName } from './buckets.ts';
import { type DocSet, lowerBound } from '../segments/doc-set.ts';
import { allOf, type Awaitable, type Searched } from '../segments/searched.ts';
import { COLUMN_DOCS, type ValueColumn } from '../segments/segment-format.ts';
import { ALL_TRAITS, type Traits } from '../segments/terms.ts';
import { DAY_MS, HOUR_MS } from '../segments/times.ts';

/** The docs of a piece that are counted. */
export interface Counted {
  readonly of: Searched;
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

export async function aggregate(
  counted: readonly Counted[],
  aggregations: readonly Aggregation[],
  knowsSecrets: boolean,
): Promise<Aggregations> {
  const result: Aggregations = {};
  const otherCount: Partial<Record<Aggregation, number>> = {};
  for (const aggregation of aggregations) {
    const { counts, nameOf } = await countBy(aggregation, counted, knowsSecrets);
    const frequent = frequentOf(aggregation, counts).map(([value, count]) => ({ ...nameOf(value), count }));
    const { buckets, others } = bucketsOf(aggregation, frequent, counts);
    result[aggregation] = buckets;
    if (others > 0) otherCount[aggregation] = others;
  }
  if (Object.keys(otherCount).length > 0) result.otherCount = otherCount;
  return result;
}

interface Counts {
  readonly counts: ReadonlyMap<string | number, number>;
  readonly nameOf: (value: string | number) => BucketName;
}

async function countBy(
  aggregation: Aggregation,
  counted: readonly Counted[],
  knowsSecrets: boolean,
): Promise<Counts> {
  const column = VALUES[aggregation];
  if (column !== undefined) return countValues(column, counted, knowsSecrets);
  const trait = TRAITS[aggregation];
  if (trait !== undefined) return countTraits(trait, counted);
  const unitMs = aggregation === 'byDay' ? DAY_MS : HOUR_MS;
  const name = aggregation === 'byDay' ? dayName : hourName;
  return { counts: await countTimes(unitMs, counted), nameOf: (value) => name(value as number) };
}

async function countValues(
  column: ValueColumn,
  counted: readonly Counted[],
  knowsSecrets: boolean,
): Promise<Counts> {
  const counts = new Map<string, number>();
  const labels = new Map<string, { readonly text: string; readonly index: number }>();
  for (const { of, docs } of counted) {
    if (docs.count === 0) continue;
    const values = await of.values(column);
    const byPlace = new Uint32Array(values.length);
    await eachBlock(
      docs,
      (block) => of.valuePlaces(column, block),
      (places, docs) => {
        for (const doc of docs) byPlace[places[doc]!]!++;
      },
    );
    for (const [place, value] of values.entries()) {
      const label = knowsSecrets ? value.label : value.openLabel;
      // Also of one that is not counted here: it may have the newest name.
      if (label !== undefined) {
        const index = of.firstIndex + label.doc;
        if (index > (labels.get(value.text)?.index ?? -1))
          labels.set(value.text, { text: label.text, index });
      }
      const count = byPlace[place]!;
      if (count > 0) counts.set(value.text, (counts.get(value.text) ?? 0) + count);
    }
  }
  return {
    counts,
    nameOf(value) {
      const key = value as string;
      const label = column === 'actor' ? labels.get(key) : undefined;
      return label === undefined ? { key } : { key, label: label.text };
    },
  };
}

async function countTraits(trait: keyof Traits, counted: readonly Counted[]): Promise<Counts> {
  const byNumber = new Uint32Array(256);
  for (const { of, docs } of counted)
    await eachBlock(
      docs,
      (block) => of.traitsIn(block),
      (traits, docs) => {
        for (let i = 0; i < docs.length; i++) byNumber[traits[docs[i]!]!]!++;
      },
    );
  const counts = new Map<string, number>();
  for (const [number, traits] of ALL_TRAITS.entries()) {
    const count = byNumber[number]!;
    if (count > 0) counts.set(traits[trait], (counts.get(traits[trait]) ?? 0) + count);
  }
  return { counts, nameOf: (value) => ({ key: String(value) }) };
}

async function countTimes(unitMs: number, counted: readonly Counted[]): Promise<Map<number, number>> {
  const counts = new Map<number, number>();
  for (const { of, docs } of counted) {
    // Most docs are of the unit of the one before.
    let last = NaN;
    let run = 0;
    const flush = () => {
      if (run > 0) counts.set(last, (counts.get(last) ?? 0) + run);
      run = 0;
    };
    await eachBlock(
      docs,
      (block) => of.numbers('atMs', block),
      (atMs, docs) => {
        for (let i = 0; i < docs.length; i++) {
          const unit = Math.floor(atMs[docs[i]!]! / unitMs);
          if (unit !== last) {
            flush();
            last = unit;
          }
          run++;
        }
      },
    );
    flush();
  }
  return counts;
}

/** All blocks that the docs are in are read at once; each is visited with the places of its docs in it. */
async function eachBlock<T>(
  docs: DocSet,
  read: (block: number) => Awaitable<T>,
  visit: (block: T, docs: Uint32Array) => void,
): Promise<void> {
  const list = docs.list();
  const ends: { readonly number: number; readonly end: number }[] = [];
  for (let at = 0; at < list.length; ) {
    const number = Math.floor(list[at]! / COLUMN_DOCS);
    const end = at + lowerBound(list.subarray(at, at + COLUMN_DOCS), (number + 1) * COLUMN_DOCS);
    ends.push({ number, end });
    at = end;
  }
  const blocks = await allOf(ends.map(({ number }) => read(number)));
  let from = 0;
  for (const [i, { number, end }] of ends.entries()) {
    const first = number * COLUMN_DOCS;
    visit(
      blocks[i]!,
      list.subarray(from, end).map((doc) => doc - first),
    );
    from = end;
  }
}
