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
import { type BucketName, bucketsOf, dayName, frequentOf, hourName } from '../../event-index/buckets.ts';
import { COUNTED_FOR, countedParts, type Run, type TimePart } from '../../event-index/counted-parts.ts';
import { COUNTED, type Span, SPANS } from '../../event-index/index-columns.ts';
import { DAY_HOURS, HOUR_MS } from '../../event-index/time-span.ts';
import { CLASSIFICATIONS } from '../../rows/classification-column.ts';
import type { Match } from './finder.ts';
import type { Condition, Matcher } from './matching.ts';
import { whileAlive } from './stop.ts';
import type { OpenView } from './views.ts';

export interface Aggregated {
  readonly aggregations: Aggregations;
  readonly isApproximate: boolean;
}

type NameOf = (value: number) => BucketName;

interface CountRule {
  /** Of docs. */
  readonly column: string;
  /** Of counts, in a span. */
  readonly value: (span: Span) => string;
}

const byValue = () => 'value';

const RULES: Readonly<Record<Aggregation, CountRule>> = {
  byAction: { column: 'd.action', value: byValue },
  byActor: { column: 'd.actor', value: byValue },
  byResource: { column: 'd.resource_type', value: byValue },
  byActorType: { column: 'd.actor_type', value: byValue },
  byOutcome: { column: 'd.outcome', value: byValue },
  byClassification: { column: 'd.classification', value: () => 'classification' },
  byHour: { column: wholeOf('d.at_ms', HOUR_MS), value: () => 'time' },
  byDay: {
    column: wholeOf('d.at_ms', DAY_HOURS * HOUR_MS),

    value: (span) => (span === 'day' ? 'time' : wholeOf('time', DAY_HOURS)),
  },
};

/** How many whole units, rounded down also below zero. */
function wholeOf(sql: string, unit: number): string {
  return `((${sql} - ((${sql} % ${unit}) + ${unit}) % ${unit}) / ${unit})`;
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
    const { runs, docs } = countedParts(aggregation, filters.timeRange, this.#matcher.bounds(view));
    const counts = this.#sum(aggregation, view, condition, runs);
    for (const part of docs) addTo(counts, this.#ofTime(aggregation, condition, part));
    return counts;
  }

  /** Of docs, each one counted. */
  #ofTime(
    aggregation: Aggregation,
    { sql, values }: Condition,
    { fromMs, endMs }: TimePart,
  ): Map<number, number> {
    const from = fromMs === undefined ? '' : `AND d.at_ms >= ${fromMs}`;
    const end = endMs === undefined ? '' : `AND d.at_ms < ${endMs}`;
    const text = `SELECT ${RULES[aggregation].column}, count(*) FROM docs d
      WHERE ${sql} ${from} ${end} AND ${whileAlive('d.doc')} GROUP BY 1`;
    // Times differ from one question to the next, so such a statement is not worth keeping.
    return countsIn(this.#matcher.statement(text).all(...values));
  }

  #sum(
    aggregation: Aggregation,
    view: number,
    { ofCounts }: Condition,
    runs: readonly Run[],
  ): Map<number, number> {
    const { value } = RULES[aggregation];
    const sums = new Map<number, number>();
    for (const { span, first, last } of runs) {
      const sql = `SELECT ${value(span)}, sum(count) FROM counts
        WHERE view = ? AND counted = ? AND span = ? AND time BETWEEN ? AND ?${ofCounts} GROUP BY 1`;
      const [what, which] = [COUNTED.indexOf(COUNTED_FOR[aggregation]), SPANS.indexOf(span)];
      addTo(sums, countsIn(this.#matcher.prepared(sql).all(view, what, which, first, last)));
    }
    return sums;
  }

  #buckets(aggregation: Aggregation, counts: Map<number, number>, question: Question) {
    const frequent = frequentOf(aggregation, counts);
    const names = this.#names(
      aggregation,
      frequent.map(([value]) => value),
      question,
    );
    const named = frequent.map(([value, count]) => ({ ...names(value), count }));
    return bucketsOf(aggregation, named, counts);
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
        return dayName;
      case 'byHour':
        return hourName;
      case 'byAction':
      case 'byActor':
      case 'byResource':
        return this.#keyNames(values, sight.visible.includes('Secret') ? 'label' : 'open_label');
    }
  }

  #keyNames(keys: readonly number[], label: 'label' | 'open_label'): NameOf {
    const sql = `SELECT k.key, k.text, k.${label} FROM json_each(?) j CROSS JOIN keys k ON k.key = j.value`;
    const names = new Map<number, BucketName>();
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
