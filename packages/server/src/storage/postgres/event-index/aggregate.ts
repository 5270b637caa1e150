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
import { COUNTED, KEY_KINDS, type KeyKind, SPANS } from '../../event-index/index-columns.ts';
import { DAY_HOURS, HOUR_MS } from '../../event-index/time-span.ts';
import { CLASSIFICATIONS } from '../../rows/classification-column.ts';
import { numberOf, textIn, textOrNone } from '../../rows/columns.ts';
import { type Row, statement } from '../connection/database.ts';
import type { Match } from './finder.ts';
import { FIRST_DOCS } from './first-docs.ts';
import type { Matcher, Matching } from './matching.ts';
import { once, Parameters } from './parameters.ts';
import type { OpenView } from './views.ts';

export interface Aggregated {
  readonly aggregations: Aggregations;
  readonly isApproximate: boolean;
}

/** By value, as a text. */
type Counts = Map<string, number>;
type NameOf = (value: string) => BucketName;

interface CountRule {
  /** Of docs. */
  readonly column: string;
  /** Of counts. */
  readonly value: string;
}

const byValue = (column: string): CountRule => ({ column, value: 'value' });

const RULES: Readonly<Record<Aggregation, CountRule>> = {
  byAction: byValue('d.action'),
  byActor: byValue('d.actor'),
  byResource: byValue('d.resource_type'),
  byActorType: byValue('d.actor_type'),
  byOutcome: byValue('d.outcome'),
  byClassification: { column: 'd.classification', value: 'classification' },
  byHour: { column: wholeOf('d.at_ms', HOUR_MS), value: 'time' },
  byDay: {
    column: wholeOf('d.at_ms', DAY_HOURS * HOUR_MS),
    value: `CASE span WHEN ${SPANS.indexOf('day')} THEN time ELSE ${wholeOf('time', DAY_HOURS)} END`,
  },
};

/** How many whole units, rounded down also below zero. */
function wholeOf(sql: string, unit: number): string {
  return `((${sql} - ((${sql} % ${unit}) + ${unit}) % ${unit}) / ${unit})`;
}

const KEYS_OF = {
  byAction: 'action',
  byActor: 'actor',
  byResource: 'resourceType',
} as const satisfies Partial<Record<Aggregation, KeyKind>>;

const NAMES = statement(
  `SELECT text, label, open_label FROM view_keys
   WHERE tenant_id = $1 AND generation = $2 AND kind = $3 AND text = ANY($4::text[])`,
);

export class Aggregator {
  readonly #matcher: Matcher;

  constructor(matcher: Matcher) {
    this.#matcher = matcher;
  }

  async aggregate(match: Match, question: Question): Promise<Aggregated> {
    const { plan, view } = match.matching;
    const asked = [...new Set(question.aggregations)];
    const isWhole = plan.of === 'All' && plan.exact;
    const counted = isWhole ? undefined : await this.#ofDocs(asked, match, question);
    const aggregations: Aggregations = {};
    const otherCount: Record<string, number> = {};
    for (const [i, aggregation] of asked.entries()) {
      const counts = counted?.counts[i] ?? (await this.#ofCounts(aggregation, match.matching, question));
      const frequent = frequentOf(aggregation, counts);
      const values = frequent.map(([value]) => value);
      const nameOf = await this.#names(aggregation, view, values, question);
      const named = frequent.map(([value, count]) => ({ ...nameOf(value), count }));
      const { buckets, others } = bucketsOf(aggregation, named, counts);
      aggregations[aggregation] = buckets;
      if (others > 0) otherCount[aggregation] = others;
    }
    if (Object.keys(otherCount).length > 0) aggregations.otherCount = otherCount;
    return { aggregations, isApproximate: counted?.isCut ?? false };
  }

  /** For each aggregation, in one pass over the docs: the newest of them, if they are too many. */
  async #ofDocs(
    aggregations: readonly Aggregation[],
    match: Match,
    question: Question,
  ): Promise<{ readonly counts: readonly Counts[]; readonly isCut: boolean }> {
    const columns = aggregations.map((aggregation, i) => `${RULES[aggregation].column} AS value${i}`);
    const texts = aggregations.map((_, i) => `value${i}::text AS text${i}`);
    const sets = aggregations.map((_, i) => `(value${i})`);
    const { sql, parameters } = await this.#newestColumns(columns.join(', '), match, question);
    const limit = parameters.mark(LIMITS.aggregationExactMatchesMax);
    // A row has a text in the one column by which it was counted; that of all together has none.
    const text = `WITH newest AS MATERIALIZED (${sql} ORDER BY d.leaf_index DESC LIMIT ${limit}::bigint + 1),
        counted AS (SELECT * FROM newest LIMIT ${limit})
      SELECT ${texts.join(', ')}, count(*) AS count FROM counted GROUP BY GROUPING SETS (${sets.join(', ')})
      UNION ALL SELECT ${aggregations.map(() => 'NULL').join(', ')}, count(*) FROM newest`;
    const rows = await this.#matcher.byTerms(text, parameters.values);
    const counts = aggregations.map((_, i) => countsIn(rows, `text${i}`));
    const found = rows.find((row) => aggregations.every((_, i) => row[`text${i}`] === null));
    return { counts, isCut: numberOf(found, 'count') > LIMITS.aggregationExactMatchesMax };
  }

  /** Where each must be looked at first, it is. */
  async #newestColumns(columns: string, { matching, docs }: Match, question: Question) {
    const { plan, view } = matching;
    if (plan.exact && plan.of === 'Some') return this.#matcher.found(matching, columns);
    const limit = LIMITS.aggregationExactMatchesMax + 1;
    const newest = docs ?? (await this.#matcher.newest(matching, question, limit));
    const parameters = new Parameters([view.tenant, view.generation, newest]);
    const sql = `SELECT ${columns} FROM docs AS d
      WHERE d.tenant_id = $1 AND d.generation = $2 AND d.leaf_index = ANY($3::bigint[])`;
    return { sql, parameters };
  }

  /** From the counts, with the first docs, which are not in them, and the docs at both ends of the time. */
  async #ofCounts(aggregation: Aggregation, matching: Matching, { filters }: Question): Promise<Counts> {
    const { runs, counted, docs } = countedParts(aggregation, filters.timeRange, this.#matcher.bounds);
    const counts = await this.#sum(aggregation, matching, runs);
    const parts = [...(counted === undefined ? [] : [{ ...counted, isOfFirst: true }]), ...docs];
    for (const part of parts)
      for (const [value, count] of await this.#ofTime(aggregation, matching, part))
        counts.set(value, (counts.get(value) ?? 0) + count);
    return counts;
  }

  /** Of docs, each one counted; of the first ones alone, where that is said. */
  async #ofTime(
    aggregation: Aggregation,
    matching: Matching,
    { fromMs, endMs, isOfFirst }: TimePart & { readonly isOfFirst?: boolean },
  ): Promise<Counts> {
    const parameters = new Parameters();
    const parts = [this.#matcher.condition(matching, parameters)];
    if (isOfFirst === true) parts.push(`d.leaf_index < ${FIRST_DOCS}`);
    if (fromMs !== undefined) parts.push(`d.at_ms >= ${parameters.mark(fromMs)}`);
    if (endMs !== undefined) parts.push(`d.at_ms < ${parameters.mark(endMs)}`);
    const text = `SELECT ${RULES[aggregation].column}::text AS value, count(*) AS count FROM docs AS d
      WHERE ${parts.join(' AND ')} GROUP BY 1`;
    return countsIn(await this.#matcher.transaction.query(once(text), parameters.values));
  }

  async #sum(
    aggregation: Aggregation,
    { view, kinds, classes }: Matching,
    runs: readonly Run[],
  ): Promise<Counts> {
    if (runs.length === 0) return new Map();
    const text = `SELECT (${RULES[aggregation].value})::text AS value, sum(count)::bigint AS count
      FROM unnest($6::smallint[], $7::integer[], $8::integer[]) AS run (run_span, first, last)
      JOIN view_counts ON tenant_id = $1 AND generation = $2 AND counted = $3 AND span = run_span
        AND time BETWEEN first AND last AND kind = ANY($4::smallint[]) AND classification = ANY($5::smallint[])
      GROUP BY 1`;
    const own = [view.tenant, view.generation, COUNTED.indexOf(COUNTED_FOR[aggregation]), kinds, classes];
    const spans = [
      runs.map(({ span }) => SPANS.indexOf(span)),
      runs.map(({ first }) => first),
      runs.map(({ last }) => last),
    ];
    return countsIn(await this.#matcher.transaction.query(once(text), [...own, ...spans]));
  }

  async #names(
    aggregation: Aggregation,
    view: OpenView,
    values: readonly string[],
    { sight }: Question,
  ): Promise<NameOf> {
    switch (aggregation) {
      case 'byClassification':
        return (value) => ({ key: CLASSIFICATIONS[Number(value)]! });
      case 'byActorType':
        return (value) => ({ key: ACTOR_TYPES[Number(value)]! });
      case 'byOutcome':
        return (value) => ({ key: EVENT_OUTCOMES[Number(value)]! });
      case 'byDay':
        return (value) => dayName(Number(value));
      case 'byHour':
        return (value) => hourName(Number(value));
      case 'byAction':
      case 'byActor':
      case 'byResource':
        return this.#keyNames(
          view,
          KEYS_OF[aggregation],
          values,
          sight.visible.includes('Secret') ? 'label' : 'open_label',
        );
    }
  }

  async #keyNames(
    { tenant, generation }: OpenView,
    kind: KeyKind,
    texts: readonly string[],
    label: 'label' | 'open_label',
  ): Promise<NameOf> {
    const values = [tenant, generation, KEY_KINDS.indexOf(kind), texts];
    const rows = await this.#matcher.transaction.query(NAMES, values);
    const labels = new Map(rows.map((row) => [textIn(row, 'text'), textOrNone(row, label)]));
    return (key) => {
      const found = labels.get(key);
      return found === undefined ? { key } : { key, label: found };
    };
  }
}

/** Of the rows that have a text in this column. */
function countsIn(rows: readonly Row[], column = 'value'): Counts {
  const counted = rows.filter((row) => row[column] !== null);
  return new Map(counted.map((row) => [textIn(row, column), numberOf(row, 'count')]));
}
