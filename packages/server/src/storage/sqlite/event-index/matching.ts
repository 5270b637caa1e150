// The docs that a question asks for: first what the plan finds in `words` or in docs alone, then, where the plan may find
// too much, what each event says itself. Up to the exact limit all of them are gathered; past it only some are looked at.

import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import type { Classification, SearchFilters } from '@tallystick/contract';
import { parseJson } from '@tallystick/evidence';
import type { Question } from '../../../events/event-index.ts';
import { passes } from '../../../query/filters.ts';
import type { FactName, TimeName } from '../../../query/fields.ts';
import { matches } from '../../../query/matches.ts';
import { seenBy } from '../../../query/queried-event.ts';
import { classesOf, kindsOf } from '../../event-index/asked-kinds.ts';
import { eventStillIn } from '../../event-index/logged-event.ts';
import { KEY_KINDS, KINDS } from '../../event-index/index-columns.ts';
import { beginningWith, hourTermsBetween, KEY_TEXTS_MAX, KEYS_OF_FACTS } from '../../event-index/known.ts';
import { ALL, type Plan, Planner, readable } from '../../event-index/plan.ts';
import { FACT_LETTERS, factTerm } from '../../event-index/terms.ts';
import { hourOf, type Moment, type TimeSpan, timeSpanOf } from '../../event-index/time-span.ts';
import { numberOf, textIn } from '../../rows/columns.ts';
import { CLASSIFICATIONS } from '../../rows/classification-column.ts';
import { FTS5 } from './fts5-expressions.ts';
import type { LoggedEvents, LoggedRow } from './logged-events.ts';
import { type Alive, whileAlive } from './stop.ts';
import type { OpenView } from './views.ts';

/** Docs as a JSON array, which is how a statement takes many of them. */
export interface DocList {
  readonly json: string;
  readonly count: number;
  /** From the first to the last of them, with all that lie between. */
  readonly span: number;
}

const NOWHERE: readonly [number, number] = [Infinity, -Infinity];
const NEWEST_FIRST = ' ORDER BY 1 DESC';

export function listOf(docs: readonly number[]): DocList {
  const [first, last] = docs.reduce(([min, max], doc) => [Math.min(min, doc), Math.max(max, doc)], NOWHERE);
  return { json: JSON.stringify(docs), count: docs.length, span: Math.max(0, last - first + 1) };
}

export function docsIn({ json }: DocList): readonly number[] {
  const docs = parseJson(json);
  const isDoc = (doc: unknown): doc is number => typeof doc === 'number';
  if (!Array.isArray(docs) || !docs.every(isDoc)) throw new Error('a list of docs has no number');
  return docs;
}

/** What docs must be, in SQL, with docs as `d`. */
export interface Condition {
  readonly sql: string;
  readonly values: readonly SQLInputValue[];
  /** Of it what counts have too, without the `d`: kind and classification. */
  readonly ofCounts: string;
}

/** How a question is put to the tables. Where the plan is not exact, each event that it finds is looked at itself. */
export interface Matching {
  readonly plan: Plan;
  /** Of docs: view, time, kind and classification. */
  readonly condition: Condition;
  readonly isTimed: boolean;
}

export class Matcher {
  readonly #db: DatabaseSync;
  readonly #alive: Alive;
  readonly #events: LoggedEvents;
  readonly #statements = new Map<string, StatementSync>();
  readonly #bounds: StatementSync;
  readonly #entryOf: StatementSync;
  readonly #keyTexts: StatementSync;

  constructor(db: DatabaseSync, events: LoggedEvents, alive: Alive) {
    this.#db = db;
    this.#events = events;
    this.#alive = alive;
    this.#bounds = db.prepare(
      `SELECT (SELECT at_ms FROM docs WHERE view = ?1 ORDER BY at_ms LIMIT 1) AS first,
              (SELECT at_ms FROM docs WHERE view = ?1 ORDER BY at_ms DESC LIMIT 1) AS last`,
    );
    this.#keyTexts = db.prepare('SELECT text FROM keys WHERE view = ? AND kind = ? LIMIT ?');
    this.#entryOf = db.prepare('SELECT entry FROM docs WHERE doc = ?');
  }

  /** A statement of that text, made once. */
  prepared(sql: string): StatementSync {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      if (this.#statements.size >= STATEMENTS_MAX) this.#statements.clear();
      this.#statements.set(sql, (statement = this.statement(sql)));
    }
    return statement;
  }

  /** Rows are arrays. */
  statement(sql: string): StatementSync {
    const statement = this.#db.prepare(sql);
    statement.setReturnArrays(true);
    return statement;
  }

  matching(view: OpenView, { query, filters, sight }: Question): Matching {
    const known = {
      beginnings: (fact: FactName, beginning: string, isFolded: boolean) =>
        this.#beginnings(view, fact, beginning, isFolded),
      hours: (time: TimeName, first: number | undefined, last: number | undefined) =>
        this.#hours(view, time, first, last),
    };
    const planner = new Planner(view.terms, sight, known, FTS5);
    const span = timeSpanOf(filters.timeRange);
    const asked = readable(planner.and([planner.query(query), planner.filters(filters)]), FTS5);
    // Kinds and classes are columns of docs; in words they are worth asking for only beside something else.
    const plan =
      asked.of === 'Some'
        ? planner.and([
            asked,
            planner.without(hiddenTerms(filters, sight.visible)),
            this.#cover(view, span, planner),
          ])
        : asked;
    return {
      plan,
      condition: conditionOf(view.view, filters, sight.visible, span),
      isTimed: span.from !== undefined || span.to !== undefined,
    };
  }

  /** The docs that match, in no order; one more than the limit where there are more. */
  docs(matching: Matching, question: Question, limit: number): DocList {
    if (matching.plan.exact) return this.#gathered(matching, '', limit + 1);
    const found: number[] = [];
    for (const doc of this.#candidates(matching, '')) {
      if (!this.isAsked(doc, question)) continue;
      if (found.push(doc) > limit) break;
    }
    return listOf(found);
  }

  /** The newest that match, newest first. */
  newest(matching: Matching, question: Question, limit: number): DocList {
    if (matching.plan.exact) return this.#gathered(matching, NEWEST_FIRST, limit);
    const found: number[] = [];
    for (const doc of this.#candidates(matching, NEWEST_FIRST)) {
      if (!this.isAsked(doc, question)) continue;
      if (found.push(doc) >= limit) break;
    }
    return listOf(found);
  }

  /** Columns of the newest docs that match; undefined where each must be looked at first. */
  newestColumns(
    matching: Matching,
    columns: string,
    limit: number,
  ): readonly (readonly number[])[] | undefined {
    const { plan, condition, isTimed } = matching;
    if (!plan.exact || plan.of !== 'Some') return undefined;
    const sql = `SELECT ${columns} FROM words CROSS JOIN docs d ON d.doc = words.rowid
      WHERE words MATCH ? AND ${whileAlive('words.rowid')}${isTimed ? ` AND ${condition.sql}` : ''}
      ORDER BY words.rowid DESC LIMIT ?`;
    // All at once: row by row they would take half as long again.
    const rows: unknown = this.prepared(sql).all(plan.match, ...(isTimed ? condition.values : []), limit);
    // All selected columns are numbers.
    return rows as readonly (readonly number[])[];
  }

  /** How many the plan finds, up to the limit. */
  countAtMost(matching: Matching, limit: number): number {
    const asked = this.#statementFor(matching, '');
    if (asked === undefined) return 0;
    const sql = `SELECT count(*) FROM (${asked.sql} LIMIT ?)`;
    return firstIn(this.prepared(sql).get(...asked.values, limit));
  }

  /** Inside SQLite, from where it goes into the next statement: to make each a number of ours would take longer. */
  #gathered(matching: Matching, order: string, limit: number): DocList {
    const asked = this.#statementFor(matching, order);
    if (asked === undefined) return listOf([]);
    const sql = `SELECT json_group_array(doc), count(*), coalesce(max(doc) - min(doc) + 1, 0)
      FROM (${asked.sql} LIMIT ?)`;
    const row: unknown = this.prepared(sql).get(...asked.values, limit);
    // As the statement says.
    const [json, count, span] = row as readonly [string, number, number];
    return { json, count, span };
  }

  /** Which of the docs from one to another the plan finds. */
  within({ plan }: Matching, first: number, last: number): ReadonlySet<number> {
    if (plan.of !== 'Some') throw new Error('only words are looked through so');
    // Numbers are bound as floating ones, with which FTS5 does not seek: it would go through all that the words find.
    const range = 'rowid BETWEEN CAST(? AS INTEGER) AND CAST(? AS INTEGER)';
    const sql = `SELECT rowid FROM words WHERE words MATCH ? AND ${range} AND ${whileAlive('rowid')}`;
    const docs = new Set<number>();
    for (const row of this.prepared(sql).iterate(plan.match, first, last)) docs.add(firstIn(row));
    return docs;
  }

  /** Whether the event itself, as this reader sees it, is asked for. */
  isAsked(doc: number, { query, filters, sight }: Question): boolean {
    this.#alive.check();
    const row = this.rowOf(doc);
    const event = row === undefined ? undefined : eventStillIn(row);
    if (event === undefined) return false;
    const seen = seenBy(event, sight);
    return passes(filters, seen) && matches(query, seen);
  }

  /** The times of the oldest and the newest event; undefined where there is none. */
  bounds(view: number): { readonly firstMs: number; readonly lastMs: number } | undefined {
    const row = this.#bounds.get(view);
    if (row?.['first'] === null) return undefined;
    return { firstMs: numberOf(row, 'first'), lastMs: numberOf(row, 'last') };
  }

  /** What the log has of it. */
  rowOf(doc: number): LoggedRow | undefined {
    return this.#events.one(numberOf(this.#entryOf.get(doc), 'entry'));
  }

  *#candidates(matching: Matching, order: string): Generator<number> {
    const asked = this.#statementFor(matching, order);
    if (asked === undefined) return;
    for (const row of this.prepared(asked.sql).iterate(...asked.values)) yield firstIn(row);
  }

  /** Of facts that are in the dictionary, if it is small. */
  #beginnings(
    { view }: OpenView,
    fact: FactName,
    beginning: string,
    isFolded: boolean,
  ): readonly string[] | undefined {
    const kind = KEYS_OF_FACTS[fact];
    if (kind === undefined) return undefined;
    const rows = this.#keyTexts.all(view, KEY_KINDS.indexOf(kind), KEY_TEXTS_MAX + 1);
    if (rows.length > KEY_TEXTS_MAX) return undefined;
    return beginningWith(
      rows.map((row) => textIn(row, 'text')),
      beginning,
      isFolded,
    );
  }

  /** What gives the docs that the plan finds; undefined where it finds none. */
  #statementFor(
    { plan, condition, isTimed }: Matching,
    order: string,
  ): { readonly sql: string; readonly values: readonly SQLInputValue[] } | undefined {
    if (plan.of === 'None') return undefined;
    const { sql, values } = condition;
    if (plan.of === 'All') {
      return {
        sql: `SELECT d.doc AS doc FROM docs d WHERE ${sql} AND ${whileAlive('d.doc')}${order}`,
        values,
      };
    }
    const match = `words MATCH ? AND ${whileAlive('words.rowid')}`;
    return isTimed
      ? {
          sql: `SELECT words.rowid AS doc FROM words CROSS JOIN docs d ON d.doc = words.rowid WHERE ${match} AND ${sql}${order}`,
          values: [plan.match, ...values],
        }
      : { sql: `SELECT words.rowid AS doc FROM words WHERE ${match}${order}`, values: [plan.match] };
  }

  /** Words that only events of this time have; none where these would be too many. */
  #cover(view: OpenView, { from, to }: TimeSpan, planner: Planner): Plan {
    if (from === undefined && to === undefined) return ALL;
    const hour = (moment: Moment | undefined) => (moment === undefined ? undefined : hourOf(moment.atMs));
    const terms = this.#hours(view, 'timestamp', hour(from), hour(to));
    return terms === undefined ? ALL : planner.anyFacet(terms);
  }

  /** Between the first and the last that there are. */
  #hours(view: OpenView, time: TimeName, first?: number, last?: number): readonly string[] | undefined {
    const bounds = time === 'timestamp' ? this.bounds(view.view) : this.#events.receivedBounds(view.tenant);
    return hourTermsBetween(time, bounds, first, last);
  }
}

const STATEMENTS_MAX = 200;

/** Of a row that begins with a number. */
export function firstIn(row: unknown): number {
  if (!Array.isArray(row) || typeof row[0] !== 'number') throw new Error('a row has no number');
  return row[0];
}

/** The facets of what is not asked for, or not for this reader. */
function hiddenTerms(filters: SearchFilters, visible: readonly Classification[]): string[] {
  const [kinds, classes] = [kindsOf(filters), classesOf(filters, visible)];
  return [
    ...KINDS.filter((kind) => !kinds.includes(kind)).map((kind) => factTerm(FACT_LETTERS.kind!.exact!, kind)),
    ...CLASSIFICATIONS.filter((each) => !classes.includes(each)).map((each) =>
      factTerm(FACT_LETTERS.classification!.exact!, each),
    ),
  ];
}

function conditionOf(
  view: number,
  filters: SearchFilters,
  visible: readonly Classification[],
  { from, to }: TimeSpan,
): Condition {
  const [kinds, classes] = [kindsOf(filters), classesOf(filters, visible)];
  const parts = ['d.view = ?'];
  const values: SQLInputValue[] = [view];
  if (from !== undefined) {
    parts.push('(d.at_ms, d.at_ns) >= (?, ?)');
    values.push(from.atMs, from.atNs);
  }
  if (to !== undefined) {
    parts.push('(d.at_ms, d.at_ns) <= (?, ?)');
    values.push(to.atMs, to.atNs);
  }
  const columns = [...among('kind', KINDS, kinds), ...among('classification', CLASSIFICATIONS, classes)];
  return {
    sql: [...parts, ...columns.map((column) => `d.${column}`)].join(' AND '),
    values,
    ofCounts: columns.map((column) => ` AND ${column}`).join(''),
  };
}

/** Nothing where all of them are asked for. */
function among<T>(column: string, all: readonly T[], asked: readonly T[]): string[] {
  const places = [...all.keys()].filter((place) => asked.includes(all[place]!));
  return places.length === all.length ? [] : [`${column} IN (${places.join(', ')})`];
}
