// Answers one question, within one transaction of a reader: all of an answer is of one moment of the views and of the log.

import type { TenantId } from '@tallystick/contract';
import { decodeEntry } from '@tallystick/evidence';
import type {
  Found,
  FoundEvent,
  IndexProgress,
  IndexState,
  SortKey,
  Question,
} from '../../../events/event-index.ts';
import { highlightsOf } from '../../../query/highlights.ts';
import { EVERYTHING, type Text, type Value } from '../../../query/query.ts';
import { seenBy } from '../../../query/queried-event.ts';
import { scoreOf, type WeighedTerm, weighTerms } from '../../../query/score.ts';
import type { Deadline } from '../../../runtime/deadline.ts';
import { pauseForOthers } from '../../../runtime/pause.ts';
import { eventStillIn } from '../../event-index/logged-event.ts';
import type { Bounds } from '../../event-index/known.ts';
import { nothingFor } from '../../event-index/nothing-found.ts';
import { blobOrNone, numberOf, numberOrNone, textIn } from '../../rows/columns.ts';
import type { StoredEvents } from '../../rows/event-row.ts';
import { ALL_TENANTS, type Database, type Row, statement, type Transaction } from '../connection/database.ts';
import { noticesFor } from '../log/deletions.ts';
import { eventsInTurns, Turn } from '../connection/paused-reads.ts';
import { partOf } from '../schema/partitions.ts';
import { Aggregator } from './aggregate.ts';
import type { FrequentPlans } from './frequent-plans.ts';
import { Finder, type Match } from './finder.ts';
import { type LoggedRow, rowsAt } from './logged-events.ts';
import { Matcher, type ViewFacts } from './matching.ts';
import { BY_INDEXES, inItsOrder } from './index-choice.ts';
import { once } from './parameters.ts';
import { type OpenView, type TermsOfViews, VIEW_COLUMNS, viewIn } from './views.ts';

/** Of stored text: a page of large events has fewer of them. */
const PAGE_BYTES_MAX = 4 * 1024 * 1024;
/** How many of the newest matches are weighed against each other. */
const WEIGHED_MAX = 1000;

// The index is compared with columns and numbers alone: under row security, COALESCE in there would keep the primary key from
// being used, and the whole log would be gone through.
export const STATE = statement(
  `SELECT heads.next_index AS end_index, ${VIEW_COLUMNS},
     EXISTS (SELECT 1 FROM views AS made WHERE made.tenant_id = $1 AND made.state = 'Building') AS is_rebuilding,
     CASE WHEN views.next_index IS NULL
       THEN (SELECT entry FROM entries WHERE entries.tenant_id = $1 AND entries.leaf_index = 0)
       ELSE (SELECT entry FROM entries WHERE entries.tenant_id = $1 AND entries.leaf_index = views.next_index)
     END AS waiting
   FROM heads LEFT JOIN views ON views.tenant_id = heads.tenant_id AND views.state = 'Current'
   WHERE heads.tenant_id = $1`,
);
const STATE_OF_ALL = statement(
  `SELECT coalesce(sum(heads.next_index - coalesce(views.next_index, 0)), 0)::bigint AS pending
   FROM heads LEFT JOIN views ON views.tenant_id = heads.tenant_id AND views.state = 'Current'
   WHERE heads.next_index > coalesce(views.next_index, 0)`,
);
const REBUILDING = statement(`SELECT 1 FROM views WHERE state = 'Building' LIMIT 1`);
/** More tenants than these are not asked how long they wait. */
const WAITING_MAX = 10_000;
const WAITING = statement(
  `SELECT (SELECT entry FROM entries WHERE entries.tenant_id = heads.tenant_id
     AND entries.leaf_index = coalesce(views.next_index, 0)) AS waiting
   FROM heads LEFT JOIN views ON views.tenant_id = heads.tenant_id AND views.state = 'Current'
   WHERE heads.next_index > coalesce(views.next_index, 0) LIMIT ${WAITING_MAX}`,
);
const GENERATION = `(SELECT generation FROM views WHERE tenant_id = $1 AND state = 'Current')`;
const docAt = (order: string) =>
  `(SELECT at_ms FROM docs WHERE tenant_id = $1 AND generation = ${GENERATION}
    ORDER BY at_ms ${order}, at_ns ${order}, leaf_index ${order} LIMIT 1)`;
const entryAt = (order: string) =>
  `(SELECT entry FROM entries WHERE tenant_id = $1 ORDER BY leaf_index ${order} LIMIT 1)`;
const FACTS = statement(
  `SELECT ${docAt('ASC')} AS first_ms, ${docAt('DESC')} AS last_ms,
     ${entryAt('ASC')} AS first_entry, ${entryAt('DESC')} AS last_entry`,
);
const DOCS_PART = statement(`SELECT ${partOf('docs', '$1')} AS part`);

export interface ReaderParts {
  readonly terms: TermsOfViews;
  readonly frequent: FrequentPlans;
  readonly stored: StoredEvents;
  /** So many that match are counted and sorted; past it the order is walked. */
  readonly gatheredMax: number;
}

/** How a tenant is indexed. */
export async function stateIn(
  transaction: Transaction,
  tenant: TenantId,
  nowMs: number,
): Promise<IndexState> {
  const [row] = await transaction.query(STATE, [tenant]);
  return stateOf(row, nowMs);
}

/** Of all tenants together. */
export async function stateOfAll(database: Database, nowMs: number): Promise<IndexProgress> {
  return database.inOneState(ALL_TENANTS, async (transaction) => {
    const [[row], rebuilding] = await Promise.all([
      transaction.query(STATE_OF_ALL),
      transaction.query(REBUILDING),
    ]);
    const pendingEvents = numberOf(row, 'pending');
    const waiting = pendingEvents === 0 ? [] : await transaction.query(WAITING);
    const lagMs = waiting.reduce((most, each) => Math.max(most, lagOf(each, nowMs)), 0);
    return { isRebuilding: rebuilding.length > 0, pendingEvents, lagMs };
  });
}

export class IndexReader {
  readonly #transaction: Transaction;
  readonly #deadline: Deadline;
  readonly #parts: ReaderParts;

  constructor(transaction: Transaction, deadline: Deadline, parts: ReaderParts) {
    this.#transaction = transaction;
    this.#deadline = deadline;
    this.#parts = parts;
  }

  async find(tenant: TenantId, question: Question, nowMs: number): Promise<Found> {
    const [, [row], facts] = await Promise.all([
      this.#transaction.query(BY_INDEXES),
      this.#transaction.query(once(STATE.text), [tenant]),
      this.#factsOf(tenant),
    ]);
    const state = stateOf(row, nowMs);
    if (row === undefined || row['generation'] === null) return { ...nothingFor(question), state };
    const view = await this.#parts.terms.open(this.#transaction, viewIn(tenant, row));
    return { ...(await this.#answer(view, facts, question)), state };
  }

  async #answer(view: OpenView, facts: ViewFacts, question: Question): Promise<Omit<Found, 'state'>> {
    const matcher = new Matcher(this.#transaction, facts, this.#deadline, this.#parts.frequent);
    const finder = new Finder(matcher, this.#parts.gatheredMax);
    const match = await finder.match(view, question);
    const isWeighed = question.isScored && match.total > 0;
    const weighed = isWeighed ? await weigh(finder, view, question) : [];
    const { places, scores } = await pageOf(finder, match, question, weighed);
    const { events, isCut } = await this.#eventsOf(view.tenant, places, question, (row) =>
      weighed.length === 0 ? UNRATED : rate(row, question, weighed, scores?.get(row.index)),
    );
    const aggregated =
      question.aggregations.length === 0
        ? undefined
        : await new Aggregator(matcher).aggregate(match, question);
    return {
      events,
      isCut,
      total: match.total,
      aggregations: aggregated?.aggregations,
      isApproximate: aggregated?.isApproximate ?? false,
    };
  }

  async #factsOf(tenant: TenantId): Promise<ViewFacts> {
    const transaction = this.#transaction;
    const isDistributed = await transaction.isDistributed();
    const [[row], [parted]] = await Promise.all([
      inItsOrder(transaction, FACTS, [tenant]),
      isDistributed ? [] : transaction.query(DOCS_PART, [tenant]),
    ]);
    const docsPart = parted && textIn(parted, 'part');
    return { docsPart, bounds: boundsIn(row), receivedBounds: receivedBoundsIn(row) };
  }

  async #eventsOf(
    tenant: TenantId,
    places: readonly SortKey[],
    { rowsMax }: Question,
    rateRow: (row: LoggedRow) => Rated,
  ): Promise<{ readonly events: FoundEvent[]; readonly isCut: boolean }> {
    const indexes = places.map(({ index }) => index);
    const { rows, readCount } = await rowsAt(this.#transaction, tenant, indexes, PAGE_BYTES_MAX);
    const asStored = rows.map((row) => row.stored);
    const notices = await noticesFor(this.#transaction, tenant, asStored);
    const stored = await eventsInTurns(this.#parts.stored, asStored, notices);
    const byIndex = new Map(rows.map((row, i) => [row.index, { row, stored: stored[i]! }]));
    const found: FoundEvent[] = [];
    const turn = new Turn();
    for (const place of places) {
      const read = byIndex.get(place.index);
      if (read === undefined) continue;
      if (turn.isOverBefore(read.row.stored)) await pauseForOthers();
      this.#deadline.throwIfPassed();
      found.push({ place, stored: read.stored, ...rateRow(read.row) });
    }
    // A row that somebody has taken out of the log does not end the list.
    const isMissing = found.length < places.length && places.length === rowsMax;
    return { events: found, isCut: readCount < places.length || isMissing };
  }
}

async function pageOf(
  finder: Finder,
  match: Match,
  question: Question,
  weighed: readonly WeighedTerm[],
): Promise<{ readonly places: readonly SortKey[]; readonly scores?: ReadonlyMap<number, number> }> {
  if (match.total === 0) return { places: [] };
  if (question.order !== 'Relevance') return { places: await finder.page(match, question, question.order) };
  const { view } = match.matching;
  const newest = await finder.matcher.newest(match.matching, question, WEIGHED_MAX);
  const scores = new Map(newest.map((doc) => [doc, 0]));
  await finder.matcher.look(view.tenant, newest, ({ index }, event) => {
    scores.set(index, scoreOf(weighed, seenBy(event, question.sight)));
  });
  // What fits as well is newest first.
  const best = newest.toSorted((a, b) => scores.get(b)! - scores.get(a)! || b - a);
  return { places: await finder.places(view, best.slice(0, question.rowsMax)), scores };
}

/** How rare the words of the query are among what this reader may search. */
async function weigh(finder: Finder, view: OpenView, question: Question): Promise<WeighedTerm[]> {
  const everything = { ...question, query: EVERYTHING, filters: {} };
  const counted = new Map<string, number>();
  // They are asked for one after the other, and then looked up.
  const terms: (Text | Value)[] = [];
  weighTerms(question.query, (term) => terms.push(term), 0);
  if (terms.length === 0) return [];
  for (const term of terms) {
    const key = JSON.stringify(term);
    if (!counted.has(key)) counted.set(key, await finder.countAtMost(view, { ...everything, query: term }));
  }
  const all = await finder.countAtMost(view, everything);
  return weighTerms(question.query, (term) => counted.get(JSON.stringify(term))!, all);
}

type Rated = Pick<FoundEvent, 'score' | 'highlights'>;

const UNRATED: Rated = { score: undefined, highlights: undefined };

function rate(
  row: LoggedRow,
  { query, sight }: Question,
  weighed: readonly WeighedTerm[],
  known: number | undefined,
): Rated {
  const event = eventStillIn(row);
  if (event === undefined) return { score: known ?? 0, highlights: undefined };
  const seen = seenBy(event, sight);
  return { score: known ?? scoreOf(weighed, seen), highlights: highlightsOf(query, seen) };
}

function stateOf(row: Row | undefined, nowMs: number): IndexState {
  const generation = (row && numberOrNone(row, 'generation')) ?? 1;
  const indexedEvents = (row && numberOrNone(row, 'next_index')) ?? 0;
  if (row === undefined)
    return { generation, indexedEvents, isRebuilding: false, pendingEvents: 0, lagMs: 0 };
  const pendingEvents = Math.max(0, numberOf(row, 'end_index') - indexedEvents);
  const isRebuilding = row['is_rebuilding'] === true;
  const lagMs = pendingEvents === 0 ? 0 : lagOf(row, nowMs);
  return { generation, indexedEvents, isRebuilding, pendingEvents, lagMs };
}

/** How long the oldest that is not indexed has waited. */
function lagOf(row: Row, nowMs: number): number {
  const entry = blobOrNone(row, 'waiting');
  return entry === undefined ? 0 : Math.max(0, nowMs - decodeEntry(entry).receivedAtMs);
}

function boundsIn(row: Row | undefined): Bounds | undefined {
  const firstMs = row && numberOrNone(row, 'first_ms');
  return firstMs === undefined ? undefined : { firstMs, lastMs: numberOf(row, 'last_ms') };
}

function receivedBoundsIn(row: Row | undefined): Bounds | undefined {
  const [first, last] = ['first_entry', 'last_entry'].map((column) => row && blobOrNone(row, column));
  if (first === undefined || last === undefined) return undefined;
  return { firstMs: decodeEntry(first).receivedAtMs, lastMs: decodeEntry(last).receivedAtMs };
}
