// Counts of what matches, by its properties. Where only time, kind and classification were asked for, the hourly counts
// give them at any size, with the docs of the hours at both ends; else the docs that match are counted, the newest of
// them if they are many.

import {
  ACTOR_TYPES,
  type Aggregation,
  type Aggregations,
  EVENT_OUTCOMES,
  LIMITS,
} from '@tallystick/contract';
import type { SQLInputValue } from 'node:sqlite';
import type { Question } from '../../../events/event-index.ts';
import { CLASSIFICATIONS } from '../schema.ts';
import type { Match } from './finder.ts';
import type { OpenView } from './index-writer.ts';
import type { Matcher } from './matching.ts';
import { COUNTED, type Counted } from './schema.ts';
import { hourOf } from './terms.ts';
import { timeSpanOf } from './time-span.ts';

export interface Aggregated {
  readonly aggregations: Aggregations;
  readonly isApproximate: boolean;
}

/** A value, how often it is there, and in words. */
interface Counts {
  readonly counts: Map<number, number>;
  readonly nameOf: (value: number) => Name;
}

interface Name {
  readonly key: string;
  readonly label?: string;
}

const DAY_HOURS = 24;
const HOUR_MS = 3_600_000;
const DATE_LENGTH = '2026-01-02'.length;

/** What each counts: of docs a column, of the hourly counts a value. */
const RULES: Readonly<
  Record<Aggregation, { readonly column: string; readonly counted: Counted; readonly value: string }>
> = {
  byAction: { column: 'd.action', counted: 'action', value: 'value' },
  byActor: { column: 'd.actor', counted: 'actor', value: 'value' },
  byResource: { column: 'd.resource_type', counted: 'resourceType', value: 'value' },
  byActorType: { column: 'd.actor_type', counted: 'actorType', value: 'value' },
  byOutcome: { column: 'd.outcome', counted: 'outcome', value: 'value' },
  byClassification: { column: 'd.classification', counted: 'all', value: 'classification' },
  byHour: { column: hourSql(1), counted: 'all', value: 'hour' },
  byDay: { column: hourSql(DAY_HOURS), counted: 'all', value: dayOfHourSql('hour') },
};

/** Whole hours since 1970, rounded down also before it. */
function hourSql(hours: number): string {
  const ms = hours * HOUR_MS;
  return `((d.at_ms - ((d.at_ms % ${ms}) + ${ms}) % ${ms}) / ${ms})`;
}

function dayOfHourSql(hour: string): string {
  return `((${hour} - ((${hour} % ${DAY_HOURS}) + ${DAY_HOURS}) % ${DAY_HOURS}) / ${DAY_HOURS})`;
}

export class Aggregator {
  readonly #matcher: Matcher;

  constructor(matcher: Matcher) {
    this.#matcher = matcher;
  }

  aggregate(view: OpenView, match: Match, question: Question): Aggregated {
    const { plan } = match.matching;
    const isWhole = plan.of === 'All' && plan.exact;
    const docs = isWhole ? undefined : (match.docs ?? this.#newestDocs(match, question));
    const isApproximate = docs !== undefined && docs.length > LIMITS.aggregationExactMatchesMax;
    const counted = isApproximate ? docs.slice(0, LIMITS.aggregationExactMatchesMax) : docs;
    const aggregations: Aggregations = {};
    const otherCount: Record<string, number> = {};
    for (const aggregation of new Set(question.aggregations)) {
      const counts =
        counted === undefined
          ? this.#ofHours(aggregation, view, match, question)
          : this.#ofDocs(aggregation, counted);
      const { buckets, others } = this.#buckets(aggregation, counts, question);
      aggregations[aggregation] = buckets;
      if (others > 0) otherCount[aggregation] = others;
    }
    if (Object.keys(otherCount).length > 0) aggregations.otherCount = otherCount;
    return { aggregations, isApproximate };
  }

  /** One more than are counted, which tells that there are more. */
  #newestDocs({ matching }: Match, question: Question): number[] {
    return this.#matcher.newest(matching, question, LIMITS.aggregationExactMatchesMax + 1);
  }

  #ofDocs(aggregation: Aggregation, docs: readonly number[]): Map<number, number> {
    const { column } = RULES[aggregation];
    const sql = `SELECT ${column}, count(*) FROM json_each(?) j CROSS JOIN docs d ON d.doc = j.value GROUP BY 1`;
    return countsIn(this.#matcher.prepared(sql).all(JSON.stringify(docs)));
  }

  #ofHours(
    aggregation: Aggregation,
    { view }: OpenView,
    { matching }: Match,
    { filters }: Question,
  ): Map<number, number> {
    const { column, counted, value } = RULES[aggregation];
    const { from, to } = timeSpanOf(filters.timeRange);
    const [fromHour, toHour] = [
      from === undefined ? undefined : hourOf(from.atMs),
      to === undefined ? undefined : hourOf(to.atMs),
    ];
    const hours: string[] = [];
    const values: SQLInputValue[] = [view, COUNTED.indexOf(counted)];
    if (fromHour !== undefined) {
      hours.push(' AND hour > ?');
      values.push(fromHour);
    }
    if (toHour !== undefined) {
      hours.push(' AND hour < ?');
      values.push(toHour);
    }
    const whole = `SELECT ${value}, sum(count) FROM counts WHERE view = ? AND counted = ?${hours.join('')}${matching.condition.ofCounts} GROUP BY 1`;
    const counts = countsIn(this.#matcher.prepared(whole).all(...values));
    for (const hour of new Set([fromHour, toHour])) {
      if (hour === undefined) continue;
      const edge = `SELECT ${column}, count(*) FROM docs d WHERE ${matching.condition.sql} AND d.at_ms >= ? AND d.at_ms < ? GROUP BY 1`;
      const rows = this.#matcher
        .prepared(edge)
        .all(...matching.condition.values, hour * HOUR_MS, (hour + 1) * HOUR_MS);
      for (const [each, count] of countsIn(rows)) counts.set(each, (counts.get(each) ?? 0) + count);
    }
    return counts;
  }

  #buckets(aggregation: Aggregation, counts: Map<number, number>, question: Question) {
    const isByTime = aggregation === 'byDay' || aggregation === 'byHour';
    // Names are looked up only for those that may be shown.
    const least = isByTime
      ? 0
      : ([...counts.values()].sort((a, b) => b - a)[LIMITS.aggregationBucketsMax - 1] ?? 0);
    const frequent = [...counts].filter(([, count]) => count >= least);
    const names = this.#names(
      aggregation,
      frequent.map(([value]) => value),
      question,
    );
    const named = frequent.map(([value, count]) => ({ ...names(value), count }));
    // Of times the newest come first, of all else the most frequent.
    named.sort((a, b) => (isByTime ? compare(b.key, a.key) : b.count - a.count || compare(a.key, b.key)));
    const buckets = named.slice(0, LIMITS.aggregationBucketsMax);
    const sumOf = (each: readonly { readonly count: number }[]) =>
      each.reduce((sum, { count }) => sum + count, 0);
    const all = [...counts.values()].reduce((sum, count) => sum + count, 0);
    return { buckets, others: all - sumOf(buckets) };
  }

  #names(aggregation: Aggregation, values: readonly number[], { sight }: Question): Counts['nameOf'] {
    switch (aggregation) {
      case 'byClassification':
        return (value) => ({ key: CLASSIFICATIONS[value]! });
      case 'byActorType':
        return (value) => ({ key: ACTOR_TYPES[value]! });
      case 'byOutcome':
        return (value) => ({ key: EVENT_OUTCOMES[value]! });
      case 'byDay':
        return (value) => ({ key: isoOf(value * DAY_HOURS).slice(0, DATE_LENGTH) });
      case 'byHour':
        return (value) => ({ key: isoOf(value) });
      case 'byAction':
      case 'byActor':
      case 'byResource':
        return this.#keyNames(values, sight.visible.includes('Secret') ? 'label' : 'open_label');
    }
  }

  #keyNames(keys: readonly number[], label: 'label' | 'open_label'): Counts['nameOf'] {
    const sql = `SELECT k.key, k.text, k.${label} FROM json_each(?) j CROSS JOIN keys k ON k.key = j.value`;
    const names = new Map<number, Name>();
    for (const row of this.#matcher.prepared(sql).all(JSON.stringify(keys))) {
      const [key, text, name] = row as unknown as [number, string, string | null];
      names.set(key, name === null ? { key: text } : { key: text, label: name });
    }
    return (value) => names.get(value)!;
  }
}

function countsIn(rows: readonly unknown[]): Map<number, number> {
  // Each is a value and its count.
  return new Map(rows as readonly (readonly [number, number])[]);
}

function isoOf(hour: number): string {
  return new Date(hour * HOUR_MS).toISOString();
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
