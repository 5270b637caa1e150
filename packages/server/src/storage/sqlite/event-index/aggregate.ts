// Counts of what matches, by its properties. Where only time, kind and classification were asked for, the counts give
// them at any size, with the docs of the hours at both ends of the time; else the docs that match are counted, the newest of
// them if they are many.

import {
  ACTOR_TYPES,
  type Aggregation,
  type Aggregations,
  EVENT_OUTCOMES,
  LIMITS,
} from '@tallystick/contract';
import type { Question } from '../../../events/event-index.ts';
import { CLASSIFICATIONS } from '../../rows/classification-column.ts';
import type { Match } from './finder.ts';
import type { Condition, Matcher } from './matching.ts';
import { COUNTED, type Counted, type Span, SPANS } from './schema.ts';
import { whileAlive } from './stop.ts';
import { DAY_HOURS, dayOf, HOUR_MS, hourOf, monthBegin, spansBetween, timeSpanOf } from './time-span.ts';
import type { OpenView } from './views.ts';

export interface Aggregated {
  readonly aggregations: Aggregations;
  readonly isApproximate: boolean;
}

/** What a counted value is called where it is shown. */
interface Name {
  readonly key: string;
  readonly label?: string;
}

type NameOf = (value: number) => Name;

const DATE_LENGTH = '2026-01-02'.length;

interface CountRule {
  /** Of docs. */
  readonly column: string;
  readonly counted: Counted;
  /** Of counts, in a span. */
  readonly value: (span: Span) => string;
}

const byValue = () => 'value';

const RULES: Readonly<Record<Aggregation, CountRule>> = {
  byAction: { column: 'd.action', counted: 'action', value: byValue },
  byActor: { column: 'd.actor', counted: 'actor', value: byValue },
  byResource: { column: 'd.resource_type', counted: 'resourceType', value: byValue },
  byActorType: { column: 'd.actor_type', counted: 'actorType', value: byValue },
  byOutcome: { column: 'd.outcome', counted: 'outcome', value: byValue },
  byClassification: { column: 'd.classification', counted: 'all', value: () => 'classification' },
  byHour: { column: wholeOf('d.at_ms', HOUR_MS), counted: 'all', value: () => 'time' },
  byDay: {
    column: wholeOf('d.at_ms', DAY_HOURS * HOUR_MS),
    counted: 'all',
    value: (span) => (span === 'day' ? 'time' : wholeOf('time', DAY_HOURS)),
  },
};

/** How many whole units, rounded down also below zero. */
function wholeOf(sql: string, unit: number): string {
  return `((${sql} - ((${sql} % ${unit}) + ${unit}) % ${unit}) / ${unit})`;
}

/** Times of one span that follow one another, both ends included. */
interface Run {
  readonly span: Span;
  readonly first: number;
  last: number;
}

/** All hours from one to another, in spans none of which is longer than what is counted by. */
function runsFor(aggregation: Aggregation, first: number, last: number): Run[] {
  if (aggregation === 'byHour') return [{ span: 'hour', first, last }];
  const runs: Run[] = [];
  for (const { span, time } of spansBetween(first, last)) {
    const isMonth = aggregation === 'byDay' && span === 'month';
    const next: Run = isMonth
      ? { span: 'day', first: dayOf(monthBegin(time)), last: dayOf(monthBegin(time + 1)) - 1 }
      : { span, first: time, last: time };
    const before = runs.at(-1);
    if (before?.span === next.span && before.last + 1 === next.first) before.last = next.last;
    else runs.push(next);
  }
  return runs;
}

function addTo(sums: Map<number, number>, more: ReadonlyMap<number, number>): void {
  for (const [value, count] of more) sums.set(value, (sums.get(value) ?? 0) + count);
}

export class Aggregator {
  readonly #matcher: Matcher;

  constructor(matcher: Matcher) {
    this.#matcher = matcher;
  }

  aggregate(view: OpenView, match: Match, question: Question): Aggregated {
    const { plan } = match.matching;
    const asked = [...new Set(question.aggregations)];
    const isWhole = plan.of === 'All' && plan.exact;
    const counted = isWhole ? undefined : this.#ofDocs(asked, match, question);
    const aggregations: Aggregations = {};
    const otherCount: Record<string, number> = {};
    for (const [i, aggregation] of asked.entries()) {
      const counts = counted?.counts[i] ?? this.#ofCounts(aggregation, view, match, question);
      const { buckets, others } = this.#buckets(aggregation, counts, question);
      aggregations[aggregation] = buckets;
      if (others > 0) otherCount[aggregation] = others;
    }
    if (Object.keys(otherCount).length > 0) aggregations.otherCount = otherCount;
    return { aggregations, isApproximate: counted?.isCut ?? false };
  }

  /** For each aggregation, in one pass over the docs: the newest of them, if they are too many. */
  #ofDocs(
    aggregations: readonly Aggregation[],
    match: Match,
    question: Question,
  ): { readonly counts: Map<number, number>[]; readonly isCut: boolean } {
    const counts = aggregations.map(() => new Map<number, number>());
    let rows = 0;
    for (const row of this.#columns(aggregations, match, question)) {
      if (++rows > LIMITS.aggregationExactMatchesMax) return { counts, isCut: true };
      for (let i = 0; i < counts.length; i++) {
        const value = row[i]!;
        counts[i]!.set(value, (counts[i]!.get(value) ?? 0) + 1);
      }
    }
    return { counts, isCut: false };
  }

  /** One row more than are counted, which tells that there are more. */
  #columns(
    aggregations: readonly Aggregation[],
    { matching, docs }: Match,
    question: Question,
  ): readonly (readonly number[])[] {
    const columns = aggregations.map((aggregation) => RULES[aggregation].column).join(', ');
    const limit = LIMITS.aggregationExactMatchesMax + 1;
    const direct = docs === undefined ? this.#matcher.newestColumns(matching, columns, limit) : undefined;
    if (direct !== undefined) return direct;
    const { json } = docs ?? this.#matcher.newest(matching, question, limit);
    const sql = `SELECT ${columns} FROM json_each(?) j CROSS JOIN docs d ON d.doc = j.value`;
    const rows: unknown = this.#matcher.prepared(sql).all(json);
    // As the statement says.
    return rows as readonly (readonly number[])[];
  }

  /** From the counts, with the docs at both ends of the time. */
  #ofCounts(
    aggregation: Aggregation,
    { view }: OpenView,
    { matching: { condition } }: Match,
    { filters }: Question,
  ): Map<number, number> {
    const { from, to } = timeSpanOf(filters.timeRange);
    const bounds = this.#matcher.bounds(view);
    if (bounds === undefined) return new Map();
    const isByTime = aggregation === 'byHour' || aggregation === 'byDay';
    if (from === undefined && to === undefined && !isByTime) {
      return this.#sum(aggregation, view, condition, [{ span: 'ever', first: 0, last: 0 }]);
    }
    const unit = RULES[aggregation].counted === 'actor' ? DAY_HOURS : 1;
    const unitOf = (atMs: number) => Math.floor(hourOf(atMs) / unit) * unit;
    // Of the first and the last, a part may lie outside.
    const begin =
      from === undefined ? unitOf(bounds.firstMs) : unitOf(Math.max(from.atMs, bounds.firstMs)) + unit;
    const end = to === undefined ? unitOf(bounds.lastMs) + unit : unitOf(Math.min(to.atMs, bounds.lastMs));
    if (begin >= end) return this.#ofTime(aggregation, condition, '');
    const counts = this.#sum(aggregation, view, condition, runsFor(aggregation, begin, end - 1));
    if (from !== undefined)
      addTo(counts, this.#ofTime(aggregation, condition, `AND d.at_ms < ${begin * HOUR_MS}`));
    if (to !== undefined)
      addTo(counts, this.#ofTime(aggregation, condition, `AND d.at_ms >= ${end * HOUR_MS}`));
    return counts;
  }

  /** Of docs, each one counted. */
  #ofTime(aggregation: Aggregation, { sql, values }: Condition, more: string): Map<number, number> {
    const text = `SELECT ${RULES[aggregation].column}, count(*) FROM docs d
      WHERE ${sql} ${more} AND ${whileAlive('d.doc')} GROUP BY 1`;
    // Times differ from one question to the next, so such a statement is not worth keeping.
    return countsIn(this.#matcher.statement(text).all(...values));
  }

  #sum(
    aggregation: Aggregation,
    view: number,
    { ofCounts }: Condition,
    runs: readonly Run[],
  ): Map<number, number> {
    const { counted, value } = RULES[aggregation];
    const sums = new Map<number, number>();
    for (const { span, first, last } of runs) {
      const sql = `SELECT ${value(span)}, sum(count) FROM counts
        WHERE view = ? AND counted = ? AND span = ? AND time BETWEEN ? AND ?${ofCounts} GROUP BY 1`;
      const [what, which] = [COUNTED.indexOf(counted), SPANS.indexOf(span)];
      addTo(sums, countsIn(this.#matcher.prepared(sql).all(view, what, which, first, last)));
    }
    return sums;
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

  #names(aggregation: Aggregation, values: readonly number[], { sight }: Question): NameOf {
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

  #keyNames(keys: readonly number[], label: 'label' | 'open_label'): NameOf {
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
