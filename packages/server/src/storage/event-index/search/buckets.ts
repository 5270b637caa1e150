// Counts by value as they are shown: the most frequent, of times the newest, and how many are in none of them.

import { type Aggregation, type Bucket, LIMITS } from '@tallystick/contract';
import { DAY_MS, HOUR_MS } from '../segments/times.ts';

/** What a counted value is called where it is shown. */
export interface BucketName {
  readonly key: string;
  readonly label?: string;
}

export interface Buckets {
  readonly buckets: Bucket[];
  /** How many are in no bucket. */
  readonly others: number;
}

export function isByTime(aggregation: Aggregation): boolean {
  return aggregation === 'byDay' || aggregation === 'byHour';
}

/** The counts that may be shown: names are looked up only for these. */
export function frequentOf<V>(aggregation: Aggregation, counts: ReadonlyMap<V, number>): [V, number][] {
  if (isByTime(aggregation)) return [...counts];
  const least = [...counts.values()].sort((a, b) => b - a)[LIMITS.aggregationBucketsMax - 1] ?? 0;
  return [...counts].filter(([, count]) => count >= least);
}

/** `named` are the frequent ones of all counts. */
export function bucketsOf<V>(
  aggregation: Aggregation,
  named: (BucketName & { readonly count: number })[],
  counts: ReadonlyMap<V, number>,
): Buckets {
  // Of times the newest come first, of all else the most frequent.
  named.sort((a, b) =>
    isByTime(aggregation) ? compare(b.key, a.key) : b.count - a.count || compare(a.key, b.key),
  );
  const buckets = named.slice(0, LIMITS.aggregationBucketsMax);
  const sumOf = (each: Iterable<number>) => [...each].reduce((sum, count) => sum + count, 0);
  return { buckets, others: sumOf(counts.values()) - sumOf(buckets.map(({ count }) => count)) };
}

const DATE_LENGTH = '2026-01-02'.length;

/** Of days since 1970. */
export function dayName(day: number): BucketName {
  return { key: isoOf(day * DAY_MS).slice(0, DATE_LENGTH) };
}

/** Of hours since 1970. */
export function hourName(hour: number): BucketName {
  return { key: isoOf(hour * HOUR_MS) };
}

function isoOf(atMs: number): string {
  return new Date(atMs).toISOString();
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
