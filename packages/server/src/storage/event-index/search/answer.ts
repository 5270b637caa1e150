// Puts an answer together: how many match, a page of them read from the log, how well each fits the words, and their counts.

import { LIMITS, type SearchFilters } from '@tallystick/contract';
import type { Found, FoundEvent, Question } from '../../../events/event-index.ts';
import { highlightsOf } from '../../../query/highlights.ts';
import { EVERYTHING, type Query, type Text, type Value } from '../../../query/query.ts';
import { type QueriedEvent, seenBy } from '../../../query/queried-event.ts';
import { scoreOf, type WeighedTerm, weighTerms } from '../../../query/score.ts';
import type { StoredEvent } from '../../../streams/log.ts';
import type { Removal } from '../store/segment-store.ts';
import { AccessPlans } from './access-plan.ts';
import { type ActorNames, aggregate, type Counted, type Counts } from './aggregate.ts';
import { DocSet } from '../segments/doc-set.ts';
import {
  allFound,
  findIn,
  type FoundThere,
  newestOf,
  pageOf,
  type PieceFound,
  placesOf,
  type PlacedRow,
  totalOf,
} from './find.ts';
import { eventsInPortions, Looker, type ReadEvents } from './look.ts';
import { and, type Plan, withoutPlaces } from './plan.ts';
import { decidedByPlan, planOf } from './planner.ts';
import { indexOf } from './rows.ts';
import type { Searched } from '../segments/searched.ts';
import { areActorsRemoved, withoutRemoved } from './without-removed.ts';

/** What an answer needs of a tenant's log. */
export interface SearchedLog {
  readonly events: ReadEvents;
  /** What was removed since the segments were made. */
  readonly removals: readonly Removal[];
  /** As they are shown, in this order, while they are not too large together; and how many were looked for. */
  stored(
    indexes: readonly number[],
  ): Promise<{ readonly events: ReadonlyMap<number, StoredEvent>; readonly readCount: number }>;
  /** One of those as it is searched; undefined where it has no content that is what was hashed. */
  queried(stored: StoredEvent): QueriedEvent | undefined;
}

/** Throws when the time for a search is over. */
export interface Stopping {
  throwIfPassed(): void;
}

/** How many of the newest matches are weighed against each other. */
const WEIGHED_MAX = 1000;

export class Answerer {
  readonly #pieces: readonly Searched[];
  readonly #question: Question;
  readonly #log: SearchedLog;
  readonly #deadline: Stopping;
  readonly #looker: Looker;

  readonly #gatheredMax: number | undefined;

  /** More than `gatheredMax` are not sorted: their order is walked. */
  constructor(
    pieces: readonly Searched[],
    question: Question,
    log: SearchedLog,
    deadline: Stopping,
    gatheredMax?: number,
  ) {
    this.#gatheredMax = gatheredMax;
    this.#pieces = pieces;
    this.#question = question;
    this.#log = log;
    this.#deadline = deadline;
    this.#looker = new Looker(log.events, question, deadline);
  }

  async answer(totalMax = LIMITS.listExactTotalMax): Promise<Omit<Found, 'state'>> {
    const { query, filters, isScored, aggregations } = this.#question;
    const found = findIn(this.#pieces, this.#planOf(query, filters), this.#deadline);
    const total = await totalOf(found, this.#looker, totalMax);
    const weighed = isScored ? await this.#weigh() : [];
    const rows = await this.#page(found, weighed);
    const { events, isCut } = await this.#eventsOf(rows, weighed);
    const counted = aggregations.length === 0 ? undefined : await this.#aggregate(found);
    return {
      events,
      isCut,
      total,
      aggregations: counted?.aggregations,
      isApproximate: counted?.isApproximate ?? false,
    };
  }

  #planOf(query: Query, filters: SearchFilters): Plan {
    const { sight, decidedBy } = this.#question;
    const plan = planOf(query, filters, sight);
    const left = withoutRemoved(plan, this.#log.removals);
    return decidedBy === undefined ? left : and([left, decidedByPlan(decidedBy)]);
  }

  async #page(found: readonly PieceFound[], weighed: readonly WeighedTerm[]): Promise<PlacedRow[]> {
    const { order, rowsMax } = this.#question;
    if (order !== 'Relevance')
      return pageOf(found, this.#question, order, this.#looker, this.#deadline, this.#gatheredMax);
    const newest = await newestOf(found, this.#looker, WEIGHED_MAX);
    const scores = await this.#scoresOf(newest.map(indexOf), weighed);
    // What fits as well is newest first.
    const best = [...newest.keys()].sort((a, b) => scores[b]! - scores[a]! || a - b);
    return placesOf(best.slice(0, rowsMax).map((i) => newest[i]!));
  }

  async #eventsOf(
    rows: readonly PlacedRow[],
    weighed: readonly WeighedTerm[],
  ): Promise<{ readonly events: FoundEvent[]; readonly isCut: boolean }> {
    const indexes = rows.map(({ place }) => place.index);
    const { events, readCount } = await this.#log.stored(indexes);
    const found = rows.flatMap(({ place }) => {
      const stored = events.get(place.index);
      if (stored === undefined) return [];
      this.#deadline.throwIfPassed();
      return [
        {
          place,
          stored,
          ...this.#rate(stored, weighed),
        },
      ];
    });
    // A row that somebody has taken out of the log does not end the list.
    const isMissing = found.length < rows.length && rows.length === this.#question.rowsMax;
    return { events: found, isCut: readCount < rows.length || isMissing };
  }

  #rate(stored: StoredEvent, weighed: readonly WeighedTerm[]): Pick<FoundEvent, 'score' | 'highlights'> {
    if (weighed.length === 0) return { score: undefined, highlights: undefined };
    const queried = this.#log.queried(stored);
    if (queried === undefined) return { score: 0, highlights: undefined };
    const event = seenBy(queried, this.#question.sight);
    if (event === undefined) return { score: 0, highlights: undefined };
    return { score: scoreOf(weighed, event), highlights: highlightsOf(this.#question.query, event) };
  }

  /** Of events as this reader sees them, in this order. */
  async #scoresOf(indexes: readonly number[], weighed: readonly WeighedTerm[]): Promise<number[]> {
    const scores: number[] = [];
    for await (const portion of eventsInPortions(indexes, this.#log.events, this.#deadline))
      for (const index of portion.indexes) {
        const event = portion.events.get(index);
        this.#deadline.throwIfPassed();
        const seen = event && seenBy(event, this.#question.sight);
        scores.push(seen === undefined ? 0 : scoreOf(weighed, seen));
      }
    return scores;
  }

  /**
   * How rare the words of the query are among what this reader may search; those of a phrase wherever they stand. Where only the
   * events can tell what this reader sees, the index would count words that are withheld: there, all words weigh the same.
   */
  async #weigh(): Promise<WeighedTerm[]> {
    const { query, sight } = this.#question;
    if (sight.access !== undefined && !new AccessPlans(sight.access).isSure)
      return weighTerms(query, () => 1, 1);
    const countOf = async (plan: Plan) => {
      const found = await allFound(findIn(this.#pieces, plan, this.#deadline));
      return found.reduce((sum, { possible }) => sum + possible.count, 0);
    };
    const counts = new Map<string, number>();
    const terms: (Text | Value)[] = [];
    weighTerms(query, (term) => terms.push(term), 0);
    for (const term of terms) {
      const key = JSON.stringify(term);
      if (!counts.has(key)) counts.set(key, await countOf(withoutPlaces(this.#planOf(term, {}))));
    }
    const all = await countOf(this.#planOf(EVERYTHING, {}));
    return weighTerms(query, (term) => counts.get(JSON.stringify(term))!, all);
  }

  async #aggregate(pieces: readonly PieceFound[]) {
    const { aggregations, sight } = this.#question;
    const max = LIMITS.aggregationExactMatchesMax;
    const found = await allFound(pieces);
    const isExact = found.every(({ sure, possible }) => sure === possible);
    const counted = isExact
      ? found.map(({ piece, sure }) => ({ piece, docs: sure }))
      : this.#gathered(found, await newestOf(pieces, this.#looker, max + 1));
    const count = counted.reduce((sum, { docs }) => sum + docs.count, 0);
    return {
      aggregations: await aggregate(
        counted,
        aggregations,
        this.#actorNames(),
        withholdsActors(sight) || this.#areActorsRemoved() ? (docs) => this.#seenActors(docs) : undefined,
      ),
      isApproximate: !isExact && count > max,
    };
  }

  /**
   * Where rules say event by event what is seen, a name is one that this reader has seen in an event; and where something was
   * removed since, one that is still there.
   */
  #actorNames(): ActorNames {
    const { sight } = this.#question;
    if (sight.access === undefined && this.#log.removals.length === 0)
      return sight.visible.includes('Secret') ? 'All' : 'Open';
    return async (indexes) => {
      const names = new Map<number, string | undefined>();
      for await (const { events } of eventsInPortions(indexes, this.#log.events, this.#deadline))
        for (const [index, event] of events) names.set(index, nameSeen(seenBy(event, sight)));
      return indexes.map((index) => names.get(index));
    };
  }

  #areActorsRemoved(): boolean {
    return areActorsRemoved(this.#log.removals);
  }

  /** An actor without an id is known by its name, which may be withheld. */
  async #seenActors(counted: readonly Counted[]): Promise<Counts> {
    const counts = new Map<string, number>();
    const names = new Map<string, string | undefined>();
    const indexes = counted.flatMap(({ piece, docs }) =>
      [...docs.list()].map((doc) => piece.firstIndex + doc),
    );
    for await (const { events } of eventsInPortions(indexes, this.#log.events, this.#deadline))
      for (const event of events.values()) {
        const seen = seenBy(event, this.#question.sight);
        if (seen === undefined) continue;
        const { userId, serviceId, userName, serviceName, actorType } = seen.actor;
        const key = userId ?? serviceId ?? userName ?? serviceName ?? actorType;
        counts.set(key, (counts.get(key) ?? 0) + 1);
        names.set(key, nameSeen(seen));
      }
    const namesOf = (keys: readonly (string | number)[]) =>
      keys.map((each) => {
        const key = String(each);
        const label = names.get(key);
        return label === undefined ? { key } : { key, label };
      });
    return { counts, namesOf };
  }

  #gathered(
    found: readonly FoundThere[],
    rows: readonly { readonly piece: Searched; readonly doc: number }[],
  ) {
    const byPiece = Map.groupBy(rows, ({ piece }) => piece);
    return found.map(({ piece }) => {
      const docs = (byPiece.get(piece) ?? []).map(({ doc }) => doc).sort((a, b) => a - b);
      return { piece, docs: DocSet.ofList(piece.docs, Uint32Array.from(docs)) };
    });
  }
}

function withholdsActors({ access }: Question['sight']): boolean {
  const rules = access === undefined ? [] : [...access.rules, ...access.classifying];
  return rules.some(({ effect }) => effect.redactFields?.some((field) => field.includes('actor')));
}

/** Undefined where it has none, or it is withheld. */
function nameSeen(event: QueriedEvent | undefined): string | undefined {
  if (event === undefined) return undefined;
  const { userName, serviceName, userId, serviceId } = event.actor;
  const field = userName === undefined ? 'actor.serviceName' : 'actor.userName';
  const isWithheld = event.redaction?.fields.includes(field) ?? false;
  return isWithheld || (userId ?? serviceId) === undefined ? undefined : (userName ?? serviceName);
}
