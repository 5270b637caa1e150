// The docs that a question asks for: first what the plan finds by terms, time, kind and class, then, where the plan may find
// too much, what each event says itself. A doc is told by its index in the tenant's sequence.

import type { SearchFilters, TenantId } from '@tallystick/contract';
import type { Question } from '../../../events/event-index.ts';
import type { FactName, TimeName } from '../../../query/fields.ts';
import { passes } from '../../../query/filters.ts';
import { matches } from '../../../query/matches.ts';
import type { Query } from '../../../query/query.ts';
import { type QueriedEvent, seenBy } from '../../../query/queried-event.ts';
import type { Deadline } from '../../../runtime/deadline.ts';
import { pauseForOthers } from '../../../runtime/pause.ts';
import { classesOf, kindsOf } from '../../event-index/asked-kinds.ts';
import { KEY_KINDS, KINDS } from '../../event-index/index-columns.ts';
import {
  beginningWith,
  type Bounds,
  hourTermsBetween,
  KEY_TEXTS_MAX,
  KEYS_OF_FACTS,
} from '../../event-index/known.ts';
import { eventStillIn } from '../../event-index/logged-event.ts';
import { type Known, type Plan, Planner, readable } from '../../event-index/plan.ts';
import { timeSpanOf } from '../../event-index/time-span.ts';
import { CLASSIFICATIONS } from '../../rows/classification-column.ts';
import { numberOf, textIn } from '../../rows/columns.ts';
import { type Row, statement, type Transaction, type Value } from '../connection/database.ts';
import { Turn } from '../connection/paused-reads.ts';
import { DATABASE_ROLES } from '../schema/rights.ts';
import type { FrequentPlans } from './frequent-plans.ts';
import { FIRST_DOCS, isBehindFirst } from './first-docs.ts';
import { type LoggedRow, rowsAt } from './logged-events.ts';
import { once, Parameters } from './parameters.ts';
import { largeLexeme, quoted, TSQUERY } from './tsquery-expressions.ts';
import type { OpenView } from './views.ts';

/** How a question is put to the tables. Where the plan is not exact, each event that it finds is looked at itself. */
export interface Matching {
  readonly view: OpenView;
  readonly plan: Plan;
  readonly kinds: readonly number[];
  readonly classes: readonly number[];
  readonly filters: SearchFilters;
  readonly isTimed: boolean;
}

/** What is known of a view before a question is put to it. */
export interface ViewFacts {
  /** The partition that the docs of the tenant are in; undefined where tables are distributed. */
  readonly docsPart: string | undefined;
  /** Undefined where there is no event. */
  readonly bounds: Bounds | undefined;
  readonly receivedBounds: Bounds | undefined;
}

/** Candidates are found in portions, small ones first: few may be needed. To find them takes as long for one as for many. */
const CANDIDATES_MIN = 500;
const CANDIDATES_MAX = 50_000;
/** So many are looked at before it is known whether more are needed. */
const LOOKED_MAX = 500;
const LOOKED_BYTES = 4 * 1024 * 1024;

/** All but their terms. */
const DOC_COLUMNS = `d.leaf_index, d.event_id, d.at_ms, d.at_ns, d.classification, d.kind, d.outcome, d.actor_type,
  d.action, d.actor, d.resource_type`;

const KEY_TEXTS = statement(
  `SELECT text FROM view_keys WHERE tenant_id = $1 AND generation = $2 AND kind = $3 LIMIT ${KEY_TEXTS_MAX + 1}`,
);
const AS_SEARCHER = once(`SET LOCAL ROLE ${DATABASE_ROLES.Searcher}`);
const AS_READER = once(`SET LOCAL ROLE ${DATABASE_ROLES.Reader}`);

/** Everything within one transaction of a reader; of a searcher, where tables are distributed. */
export class Matcher {
  readonly transaction: Transaction;
  readonly #deadline: Deadline;
  readonly #facts: ViewFacts;
  readonly #texts = new Map<string, readonly string[]>();
  readonly #frequent: FrequentPlans;
  /** By what was counted, up to its limit. */
  readonly #counts = new Map<string, number>();

  constructor(transaction: Transaction, facts: ViewFacts, deadline: Deadline, frequent: FrequentPlans) {
    this.transaction = transaction;
    this.#facts = facts;
    this.#deadline = deadline;
    this.#frequent = frequent;
  }

  get bounds(): Bounds | undefined {
    return this.#facts.bounds;
  }

  async matching(view: OpenView, { query, filters, sight }: Question): Promise<Matching> {
    if (asksForBeginnings(query, filters)) await this.#readTexts(view);
    const known: Known = {
      beginnings: (fact, beginning, isFolded) => this.#beginnings(fact, beginning, isFolded),
      hours: (time, first, last) => this.#hours(time, first, last),
    };
    const planner = new Planner(view.terms, sight, known, TSQUERY);
    const asked = readable(planner.and([planner.query(query), planner.filters(filters)]), TSQUERY);
    const { timeRange } = filters;
    return {
      view,
      plan: withLargeDocs(asked, view),
      kinds: kindsOf(filters).map((kind) => KINDS.indexOf(kind)),
      classes: classesOf(filters, sight.visible).map((each) => CLASSIFICATIONS.indexOf(each)),
      filters,
      isTimed: timeRange?.from !== undefined || timeRange?.to !== undefined,
    };
  }

  /** The newest docs that match, newest first, up to the limit. */
  async newest(matching: Matching, question: Question, limit: number): Promise<number[]> {
    const { plan } = matching;
    if (plan.of === 'None') return [];
    if (plan.exact) return this.#candidates(matching, limit, undefined);
    const found: number[] = [];
    let beyond: number | undefined;
    for (let portion = CANDIDATES_MIN; ; portion = Math.min(10 * portion, CANDIDATES_MAX)) {
      const candidates = await this.#candidates(matching, portion, beyond);
      for (let at = 0; at < candidates.length; at += LOOKED_MAX) {
        const looked = candidates.slice(at, at + LOOKED_MAX);
        const asked = await this.asked(matching.view.tenant, looked, question);
        found.push(...looked.filter((index) => asked.has(index)));
        if (found.length >= limit) return found.slice(0, limit);
      }
      if (candidates.length < portion) return found;
      beyond = candidates.at(-1)!;
    }
  }

  /** How many the plan finds, up to the limit. */
  async countAtMost(matching: Matching, limit: number): Promise<number> {
    if (matching.plan.of === 'None') return 0;
    const known = this.knownCount(matching, limit);
    if (known !== undefined) return known;
    const { sql, parameters } = this.found(matching, 'd.leaf_index');
    const text = `SELECT count(*) AS count FROM (${sql} LIMIT ${parameters.mark(limit)}) AS found`;
    const [row] = await this.byTerms(text, parameters.values);
    const count = numberOf(row, 'count');
    this.rememberCount(matching, limit, count);
    return count;
  }

  /** How many the plan is known to find, up to the limit: they were counted for this answer, or are too many for any. */
  knownCount(matching: Matching, limit: number): number | undefined {
    const counted = countedAs(matching, limit);
    return (
      this.#counts.get(counted) ?? (this.#frequent.has(counted, matching.view.nextIndex) ? limit : undefined)
    );
  }

  rememberCount(matching: Matching, limit: number, count: number): void {
    const counted = countedAs(matching, limit);
    this.#counts.set(counted, count);
    if (count === limit) this.#frequent.add(counted, matching.view.nextIndex);
  }

  /** Statements that find docs by their terms: they name the tenant. */
  async byTerms(text: string, values: readonly Value[]): Promise<Row[]> {
    this.#deadline.throwIfPassed();
    if (await this.transaction.isDistributed()) return this.transaction.query(once(text), values);
    const [, rows] = await Promise.all([
      this.transaction.query(AS_SEARCHER),
      this.transaction.query(once(text), values),
      this.transaction.query(AS_READER),
    ]);
    return rows;
  }

  /** Which of these events, as this reader sees them, are asked for. */
  async asked(
    tenant: TenantId,
    indexes: readonly number[],
    { query, filters, sight }: Question,
  ): Promise<ReadonlySet<number>> {
    const found = new Set<number>();
    await this.look(tenant, indexes, ({ index }, event) => {
      const seen = seenBy(event, sight);
      if (passes(filters, seen) && matches(query, seen)) found.add(index);
    });
    return found;
  }

  /** Shows each of these events, but those that are none any more. */
  async look(
    tenant: TenantId,
    indexes: readonly number[],
    visit: (row: LoggedRow, event: QueriedEvent) => void,
  ): Promise<void> {
    const turn = new Turn();
    for (let at = 0; at < indexes.length; ) {
      this.#deadline.throwIfPassed();
      const portion = indexes.slice(at, at + LOOKED_MAX);
      const { rows, readCount } = await rowsAt(this.transaction, tenant, portion, LOOKED_BYTES);
      at += readCount;
      for (const row of rows) {
        if (turn.isOverBefore(row.stored)) await this.pause();
        const event = eventStillIn(row);
        if (event !== undefined) visit(row, event);
      }
    }
  }

  /** Between pieces of work that take long. Throws when the time is over. */
  async pause(): Promise<void> {
    await pauseForOthers();
    this.#deadline.throwIfPassed();
  }

  /** What docs must be, with docs as `d`; without their terms. */
  condition(matching: Matching, parameters: Parameters): string {
    const { tenant, generation } = matching.view;
    const own = [`d.tenant_id = ${parameters.mark(tenant)}`, `d.generation = ${parameters.mark(generation)}`];
    return [...own, ...propertiesOf(matching, parameters)].join(' AND ');
  }

  /** What the plan finds, without an order, of docs before an index if one is given. It is for `byTerms`. */
  found(
    matching: Matching,
    columns: string,
    before?: number,
  ): { readonly sql: string; readonly parameters: Parameters } {
    const parameters = new Parameters();
    const older = before === undefined ? '' : ` AND d.leaf_index < ${parameters.mark(before)}`;
    const { plan, view } = matching;
    if (plan.of !== 'Some') {
      const condition = this.condition(matching, parameters);
      return { sql: `SELECT ${columns} FROM docs AS d WHERE ${condition}${older}`, parameters };
    }
    const { docsPart } = this.#facts;
    const docs = docsPart ?? 'docs';
    const [tenant, generation] = [parameters.mark(view.tenant), parameters.mark(view.generation)];
    const words = `d.terms @@ ${parameters.mark(plan.match)}::tsquery`;
    const asked = [...propertiesOf(matching, parameters), words].join(' AND ') + older;
    const own = `d.tenant_id = ${tenant} AND d.generation = ${generation}`;
    // The database holds it for cheap to go through all docs of the tenant and read the terms of each, which are kept apart
    // from them. So the tenant is compared in a way that leaves it only the index of terms, in its own part of the docs.
    const hidden = `d.tenant_id || '' = ${tenant} AND d.generation + 0 = ${generation}`;
    const sql = `SELECT ${columns} FROM (
        SELECT ${DOC_COLUMNS} FROM ${docs} AS d
        WHERE ${docsPart === undefined ? own : hidden} AND ${isBehindFirst('d.')} AND ${asked}
      UNION ALL
        SELECT ${DOC_COLUMNS} FROM (SELECT * FROM ${docs} AS d
          WHERE ${own} AND d.leaf_index < ${FIRST_DOCS} OFFSET 0) AS d
        WHERE ${asked}
      ) AS d`;
    return { sql, parameters };
  }

  /** What the plan finds, newest first, of what is older than `beyond`. */
  async #candidates(matching: Matching, limit: number, beyond: number | undefined): Promise<number[]> {
    const { sql, parameters } = this.found(matching, 'd.leaf_index', beyond);
    const text = `${sql} ORDER BY d.leaf_index DESC LIMIT ${parameters.mark(limit)}`;
    const rows = await this.byTerms(text, parameters.values);
    return rows.map((row) => numberOf(row, 'leaf_index'));
  }

  async #readTexts({ tenant, generation }: OpenView): Promise<void> {
    for (const kind of new Set(Object.values(KEYS_OF_FACTS))) {
      if (this.#texts.has(kind)) continue;
      const values = [tenant, generation, KEY_KINDS.indexOf(kind)];
      const rows = await this.transaction.query(KEY_TEXTS, values);
      this.#texts.set(
        kind,
        rows.map((row) => textIn(row, 'text')),
      );
    }
  }

  /** Of facts that are keys, if these are few. */
  #beginnings(fact: FactName, beginning: string, isFolded: boolean): readonly string[] | undefined {
    const kind = KEYS_OF_FACTS[fact];
    const texts = kind === undefined ? undefined : this.#texts.get(kind);
    if (texts === undefined || texts.length > KEY_TEXTS_MAX) return undefined;
    return beginningWith(texts, beginning, isFolded);
  }

  /** Between the first and the last that there are. */
  #hours(time: TimeName, first?: number, last?: number): readonly string[] | undefined {
    const { bounds, receivedBounds } = this.#facts;
    return hourTermsBetween(time, time === 'timestamp' ? bounds : receivedBounds, first, last);
  }
}

function countedAs({ view, plan, kinds, classes, filters }: Matching, limit: number): string {
  const { tenant, generation } = view;
  return JSON.stringify([tenant, generation, plan, kinds, classes, filters.timeRange, limit]);
}

function propertiesOf({ kinds, classes, filters }: Matching, parameters: Parameters): string[] {
  const { from, to } = timeSpanOf(filters.timeRange);
  const mark = (value: Value) => parameters.mark(value);
  const parts: string[] = [];
  if (kinds.length < KINDS.length) parts.push(`d.kind = ANY(${mark(kinds)}::smallint[])`);
  if (classes.length < CLASSIFICATIONS.length)
    parts.push(`d.classification = ANY(${mark(classes)}::smallint[])`);
  if (from !== undefined) parts.push(timeCondition('>=', mark(from.atMs), mark(from.atNs)));
  if (to !== undefined) parts.push(timeCondition('<=', mark(to.atMs), mark(to.atNs)));
  return parts;
}

/** By milliseconds alone, too: from pairs, the database does not tell how few lie between two of them. */
function timeCondition(operator: '>=' | '<=', atMs: string, atNs: string): string {
  return `d.at_ms ${operator} ${atMs} AND (d.at_ms, d.at_ns) ${operator} (${atMs}, ${atNs})`;
}

/** Docs that have none of their terms are found by every question, and each of them is looked at. */
function withLargeDocs(plan: Plan, { terms, largeDocs }: OpenView): Plan {
  if (plan.of !== 'Some' || largeDocs === 0) return plan;
  const large = quoted(largeLexeme(terms.prefix));
  return { of: 'Some', match: TSQUERY.any([plan.match, large]), exact: false };
}

/** Whether texts that begin so will be looked for. */
function asksForBeginnings(query: Query, { actions = [], resourceTypes = [] }: SearchFilters): boolean {
  return [...actions, ...resourceTypes].some((text) => text.endsWith('*')) || hasBeginning(query);
}

function hasBeginning(query: Query): boolean {
  if (query.kind === 'And' || query.kind === 'Or') return query.of.some(hasBeginning);
  if (query.kind === 'Not') return hasBeginning(query.of);
  return query.kind === 'Value' && query.prefix && query.field.path === undefined;
}
