// Answers questions from views.db and journal.db, over connections that cannot write. All of an answer is of one moment of
// the views; the events themselves come from the log.

import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { LIMITS, type TenantId } from '@tallystick/contract';
import { decodeEntry } from '@tallystick/evidence';
import type { Found, FoundEvent, IndexProgress, IndexState, Question } from '../../../events/event-index.ts';
import { highlightsOf } from '../../../query/highlights.ts';
import { EVERYTHING, type Text, type Value } from '../../../query/query.ts';
import { type QueriedEvent, seenBy } from '../../../query/queried-event.ts';
import { scoreOf, type WeighedTerm, weighTerms } from '../../../query/score.ts';
import { eventStillIn } from '../../event-index/logged-event.ts';
import { nothingFor } from '../../event-index/nothing-found.ts';
import { blobOf, numberOf } from '../../rows/columns.ts';
import { inOneState } from '../connection/database.ts';
import { LogTables } from '../log/log-tables.ts';
import { Aggregator } from './aggregate.ts';
import { Finder, type FoundDoc, type Match } from './finder.ts';
import { LoggedEvents } from './logged-events.ts';
import { docsIn } from './matching.ts';
import { Alive, type StopFlag } from './stop.ts';
import { type OpenView, TermsOfViews, type View, Views } from './views.ts';

/** Of stored text: a page of large events has fewer of them. */
const PAGE_BYTES_MAX = 4 * 1024 * 1024;
/** How many of the newest matches are weighed against each other. */
const WEIGHED_MAX = 1000;

export interface Reading {
  readonly journal: DatabaseSync;
  readonly views: DatabaseSync;
  readonly logOrigin: string;
  /** So many that match are counted and sorted; past it the order is walked. */
  readonly gatheredMax?: number;
}

export class IndexReader {
  readonly #db: DatabaseSync;
  readonly #views: Views;
  readonly #terms: TermsOfViews;
  readonly #events: LoggedEvents;
  readonly #log: LogTables;
  readonly #finder: Finder;
  readonly #aggregator: Aggregator;
  readonly #alive: Alive;
  readonly #tenant: StatementSync;
  readonly #lastIndex: StatementSync;
  readonly #entryAt: StatementSync;
  readonly #position: StatementSync;
  readonly #lastEntry: StatementSync;
  readonly #entryBeyond: StatementSync;

  constructor({ journal, views, logOrigin, gatheredMax = LIMITS.listExactTotalMax }: Reading) {
    this.#db = views;
    this.#views = new Views(views);
    this.#terms = new TermsOfViews(journal);
    this.#events = new LoggedEvents(journal);
    this.#log = new LogTables(journal, logOrigin);
    this.#alive = new Alive(views);
    this.#finder = new Finder(views, this.#events, this.#alive, gatheredMax);
    this.#aggregator = new Aggregator(this.#finder.matcher);
    this.#tenant = journal.prepare('SELECT tenant FROM tenants WHERE tenant_id = ?');
    // Larger ones are of nobody but who has changed a row.
    this.#lastIndex = journal.prepare(
      `SELECT max(leaf_index) AS last FROM entries WHERE tenant = ? AND leaf_index <= ${Number.MAX_SAFE_INTEGER}`,
    );
    this.#position = views.prepare("SELECT value FROM meta WHERE name = 'position'");
    this.#lastEntry = journal.prepare('SELECT max(id) AS last FROM entries');
    this.#entryBeyond = journal.prepare('SELECT entry FROM entries WHERE id > ? ORDER BY id LIMIT 1');
    this.#entryAt = journal.prepare('SELECT id, entry FROM entries WHERE tenant = ? AND leaf_index = ?');
  }

  /** Throws Stopped when the flag is set. */
  find(tenantId: TenantId, question: Question, nowMs: number, flag?: StopFlag): Found {
    this.#alive.watch(flag);
    this.#alive.check();
    return inOneState(this.#db, () => {
      const tenant = this.#tenantOf(tenantId);
      const view = tenant === undefined ? undefined : this.#views.current(tenant);
      const state = this.#stateOf(tenant, view, nowMs);
      if (view === undefined) return { ...nothingFor(question), state };
      return { ...this.#answer(tenantId, this.#terms.open(view), question), state };
    });
  }

  state(tenantId: TenantId, nowMs: number): IndexState {
    const tenant = this.#tenantOf(tenantId);
    return this.#stateOf(tenant, tenant === undefined ? undefined : this.#views.current(tenant), nowMs);
  }

  #answer(tenantId: TenantId, view: OpenView, question: Question): Omit<Found, 'state'> {
    const match = this.#finder.match(view, question);
    const weighed = question.isScored ? this.#weigh(view, question, match) : [];
    const { docs, scores } = this.#page(match, question, weighed);
    const { events, isCut } = this.#eventsOf(tenantId, docs, question, (doc) =>
      weighed.length === 0 ? UNRATED : this.#rate(doc, question, weighed, scores?.get(doc)),
    );
    const aggregated =
      question.aggregations.length === 0 ? undefined : this.#aggregator.aggregate(view, match, question);
    return {
      events,
      isCut,
      total: match.total,
      aggregations: aggregated?.aggregations,
      isApproximate: aggregated?.isApproximate ?? false,
    };
  }

  #page(
    match: Match,
    question: Question,
    weighed: readonly WeighedTerm[],
  ): { readonly docs: readonly FoundDoc[]; readonly scores?: ReadonlyMap<number, number> } {
    if (question.order !== 'Relevance') return { docs: this.#finder.page(match, question, question.order) };
    const newest = docsIn(this.#finder.matcher.newest(match.matching, question, WEIGHED_MAX));
    const scores = new Map(newest.map((doc) => [doc, this.#score(doc, question, weighed)]));
    // What fits as well is newest first.
    const best = newest.toSorted((a, b) => scores.get(b)! - scores.get(a)! || b - a);
    return { docs: this.#finder.places(best.slice(0, question.rowsMax)), scores };
  }

  #eventsOf(
    tenantId: TenantId,
    docs: readonly FoundDoc[],
    { rowsMax }: Question,
    rate: (doc: number) => Rated,
  ): { readonly events: FoundEvent[]; readonly isCut: boolean } {
    const indexes = docs.map(({ place }) => place.index);
    const { events, readCount } = this.#log.eventsAt(tenantId, indexes, PAGE_BYTES_MAX);
    const found = docs.flatMap(({ doc, place }) => {
      const stored = events.get(place.index);
      return stored === undefined ? [] : [{ place, stored, ...rate(doc) }];
    });
    // A row that somebody has taken out of the log does not end the list.
    const isMissing = found.length < docs.length && docs.length === rowsMax;
    return { events: found, isCut: readCount < docs.length || isMissing };
  }

  /** How rare the words of the query are among what this reader may search. */
  #weigh(view: OpenView, question: Question, match: Match): WeighedTerm[] {
    const all = { ...question, query: EVERYTHING, filters: {} };
    const found = (asked: Question) => this.#finder.countAtMost(view, asked, match);
    const counted = new Map<string, number>();
    const foundBy = (term: Text | Value) => {
      const key = JSON.stringify(term);
      const count = counted.get(key) ?? found({ ...all, query: term });
      counted.set(key, count);
      return count;
    };
    return weighTerms(question.query, foundBy, found(all));
  }

  #score(doc: number, { sight }: Question, weighed: readonly WeighedTerm[]): number {
    const event = this.#seen(doc, sight);
    return event === undefined ? 0 : scoreOf(weighed, event);
  }

  /** Here, and not where the answer is put together: it takes long for many words, and can be stopped only here. */
  #rate(doc: number, { query, sight }: Question, weighed: readonly WeighedTerm[], known?: number): Rated {
    const event = this.#seen(doc, sight);
    if (event === undefined) return { score: known ?? 0, highlights: undefined };
    return { score: known ?? scoreOf(weighed, event), highlights: highlightsOf(query, event) };
  }

  /** The event as this reader sees it. */
  #seen(doc: number, sight: Question['sight']): QueriedEvent | undefined {
    this.#alive.check();
    const row = this.#finder.matcher.rowOf(doc);
    const event = row === undefined ? undefined : eventStillIn(row);
    return event === undefined ? undefined : seenBy(event, sight);
  }

  /** Rows of the log are counted: nothing is ever removed from it. */
  stateOfAll(nowMs: number): IndexProgress {
    const row = this.#position.get();
    const position = row === undefined ? 0 : numberOf(row, 'value');
    const last = this.#lastEntry.get();
    const pendingEvents = last?.['last'] === null ? 0 : Math.max(0, numberOf(last, 'last') - position);
    const oldest = pendingEvents === 0 ? undefined : this.#entryBeyond.get(position);
    const isRebuilding = this.#views.any('Building') !== undefined;
    return { isRebuilding, pendingEvents, lagMs: lagOf(oldest, nowMs) };
  }

  #stateOf(tenant: number | undefined, view: View | undefined, nowMs: number): IndexState {
    const generation = view?.generation ?? 1;
    const indexedEvents = view?.nextIndex ?? 0;
    const last = tenant === undefined ? undefined : this.#lastIndex.get(tenant);
    if (tenant === undefined || last?.['last'] === null)
      return { generation, indexedEvents, isRebuilding: false, pendingEvents: 0, lagMs: 0 };
    const pendingEvents = Math.max(0, numberOf(last, 'last') + 1 - indexedEvents);
    const oldest = pendingEvents === 0 ? undefined : this.#entryAt.get(tenant, indexedEvents);
    const isRebuilding = this.#views.of(tenant).some(({ state }) => state === 'Building');
    return { generation, indexedEvents, isRebuilding, pendingEvents, lagMs: lagOf(oldest, nowMs) };
  }

  #tenantOf(tenantId: TenantId): number | undefined {
    const row = this.#tenant.get(tenantId);
    return row === undefined ? undefined : numberOf(row, 'tenant');
  }
}

/** How long the oldest that is not indexed has waited. */
function lagOf(row: Readonly<Record<string, unknown>> | undefined, nowMs: number): number {
  return row === undefined ? 0 : Math.max(0, nowMs - decodeEntry(blobOf(row, 'entry')).receivedAtMs);
}

type Rated = Pick<FoundEvent, 'score' | 'highlights'>;

const UNRATED: Rated = { score: undefined, highlights: undefined };
