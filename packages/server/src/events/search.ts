// Search: words and filters over the events as this reader may see them, with counts. It ends at the cap of results;
// to see more, narrow the search.

import {
  type Answer,
  type ErrorDetail,
  type InputOf,
  LIMITS,
  type SearchHit,
  type SearchRequest,
} from '@tallystick/contract';
import { type Call, type OwnViolation, type Received, receivedMember } from '../call.ts';
import { type Cursors, cursorError } from '../paging.ts';
import { isGuarded, mayShowGuarded, sightOf } from '../policies/sight.ts';
import { readKinds } from '../query/filters.ts';
import type { Clock } from '../runtime/clock.ts';
import type { EventIndex, Found, OrderStep, SortKey, Question } from './event-index.ts';
import { type FoundPageParts, isPlace, showFound, type ShownMatch } from './found-page.ts';
import { queryFaults, readQuery, readTimeRange, timeRangeFaults } from './question.ts';
import { noteSecretsRead } from './secret-read.ts';

export interface SearchParts extends FoundPageParts {
  readonly index: EventIndex;
  readonly cursors: Cursors;
  readonly clock: Clock;
}

/** Where a page of a search begins, and how many results lie before it. */
interface Beyond {
  readonly place: SortKey;
  readonly seen: number;
}

export function createSearch(parts: SearchParts) {
  return { perform: createPerform(parts), rules };
}

function rules({ search }: Received['input']): OwnViolation[] {
  const range = receivedMember(receivedMember(search, 'filters'), 'timeRange');
  const [from, to] = [receivedMember(range, 'from'), receivedMember(range, 'to')];
  const details = [
    ...queryFaults(receivedMember(search, 'query'), 'query'),
    ...timeRangeFaults(from, to, 'filters.timeRange.from'),
    ...sortFaults(receivedMember(search, 'sort')),
  ];
  return details.map((detail) => ({ member: 'search', detail }));
}

/** Relevance excludes any other order, and only the descending one makes sense. */
function sortFaults(steps: unknown): ErrorDetail[] {
  // One that is too long is refused for that.
  if (!Array.isArray(steps) || steps.length > LIMITS.sortFieldsMax) return [];
  return steps.flatMap((step: unknown, i) => {
    const value = receivedMember(step, 'field');
    if (value !== 'relevance' || (i === 0 && receivedMember(step, 'order') !== 'asc')) return [];
    return [{ field: `sort[${i}].field`, issue: 'must be the first field, in descending order', value }];
  });
}

function createPerform(parts: SearchParts) {
  const { index, clock, cursors } = parts;
  return async (call: Call, { search = {} }: InputOf<'events.search'>): Promise<Answer<'events.search'>> => {
    const beganNs = clock.monotonicNs();
    const { limit = LIMITS.pageSizeDefault, cursor } = search.pagination ?? {};
    const pages = pagesOf(call, search, cursors);
    const asked = askedIn(search, call);
    const { order } = asked;
    const before = cursor === undefined ? undefined : pages.read(cursor);
    if (before !== undefined && order === 'Relevance') throw cursorError('CURSOR_MISMATCH');
    const seen = before?.seen ?? 0;
    const pageMax = Math.min(limit, LIMITS.searchResultsMax - seen);
    const question: Question = { ...asked, beyond: before?.place, rowsMax: pageMax + 1 };
    const found = await index.forTenant(call.tenant!).find(question, call.deadline);
    const rows = found.events.slice(0, pageMax);
    const isMore = order !== 'Relevance' && (found.events.length > pageMax || found.isCut);
    // By relevance there is no cursor to the results that did not fit into the page.
    const isTruncated =
      order === 'Relevance'
        ? found.isCut && rows.length < pageMax
        : isMore && seen + rows.length >= LIMITS.searchResultsMax;
    const shown = await showFound(call, rows, parts);
    const events = shown.map(({ event }) => event);
    await noteSecretsRead(call, events, parts);
    const last = rows.at(-1);
    const nextCursor =
      isMore && !isTruncated && last !== undefined
        ? pages.make({ place: last.place, seen: seen + rows.length })
        : null;
    return {
      kind: 'Done',
      body: {
        results: shown.map(hitOf),
        ...totalsOf(found),
        nextCursor,
        hasMore: nextCursor !== null,
        metadata: {
          queryTimeMs: Math.round((clock.monotonicNs() - beganNs) / 1e6),
          indexVersion: `events-${found.state.generation}`,
          projectionLagMs: found.state.lagMs,
          truncated: isTruncated,
        },
      },
      facts: { projectionLagMs: found.state.lagMs },
      // Buckets tell of all that was found, and not of this page alone.
      isGuarded:
        events.some(isGuarded) ||
        (found.aggregations !== undefined && mayShowGuarded(call, search.filters?.classifications)),
    };
  };
}

/** The question without the bounds of its page. */
function askedIn(search: SearchRequest, call: Call): Omit<Question, 'beyond' | 'rowsMax'> {
  const query = readQuery(search.query);
  const { timeRange = {}, kinds, ...others } = search.filters ?? {};
  const order = orderOf(search);
  return {
    query,
    filters: {
      ...others,
      ...readKinds(query, kinds),
      ...readTimeRange(timeRange),
    },
    sight: sightOf(call).index,
    order,
    direction: 'Next',
    aggregations: search.aggregations ?? [],
    isScored: true,
  };
}

function totalsOf({ total, aggregations, isApproximate }: Found) {
  const isExact = total <= LIMITS.listExactTotalMax;
  return {
    totalCount: Math.min(total, LIMITS.listExactTotalMax + 1),
    totalCountRelation: isExact ? ('Exact' as const) : ('AtLeast' as const),
    ...(aggregations === undefined
      ? {}
      : {
          aggregations,
          aggregationsRelation: isApproximate ? ('Approximate' as const) : ('Exact' as const),
        }),
  };
}

function hitOf({ event, found: { score, highlights = {} } }: ShownMatch): SearchHit {
  return {
    ...event,
    ...(score === undefined ? {} : { score }),
    ...(Object.keys(highlights).length === 0 ? {} : { highlights }),
  };
}

function orderOf({ sort = [] }: SearchRequest): readonly OrderStep[] | 'Relevance' {
  const steps: OrderStep[] = [];
  for (const { field, order } of sort) {
    if (field === 'relevance') return 'Relevance';
    steps.push({ field, isDescending: order === 'desc' });
  }
  return steps.length === 0 ? [{ field: 'timestamp', isDescending: true }] : steps;
}

/** Cursors that are good for this search alone. */
function pagesOf(call: Call, { query, filters, sort }: SearchRequest, cursors: Cursors) {
  const asked = { query, filters, sort };
  const scope = { tenant: call.tenantRecord, operation: call.operation, asked };
  return {
    make: (at: Beyond): string => cursors.make(scope, { direction: 'Next', at }),
    read(cursor: string): Beyond {
      const { at } = cursors.read(scope, cursor);
      if (!isBeyond(at)) throw cursorError('CURSOR_INVALID');
      return at;
    },
  };
}

function isBeyond(value: unknown): value is Beyond {
  if (typeof value !== 'object' || value === null) return false;
  const { place, seen } = value as Partial<Record<keyof Beyond, unknown>>;
  return isPlace(place) && Number.isSafeInteger(seen);
}
