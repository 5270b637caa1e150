// Search: full text and filters over the events as this reader may see them, with counts.
// `query` is one grammar everywhere: words (AND), "phrases", -not, prefix*, and field:value with > >= < <=.

import type { Static, TSchema } from 'typebox';
import { LIMITS } from '../limits.ts';
import { arrayOf, choice, doc, mapOf, object, optional, orNull, strictObject } from '../schema.ts';
import { Type } from '../type.ts';
import { ActorType, AuditEvent, EventKind, EventOutcome } from './event.ts';
import { PAGING, TotalRelation } from './list.ts';
import { Classification, CorrelationId, Count, Instant, Milliseconds, StreamId, text } from './primitives.ts';

export const QueryText = Type.String({
  maxLength: LIMITS.queryLengthMax,
  description:
    'Words (AND), `"phrases"`, `-not`, `prefix*` and fields: `action:Delete.* payload.amount:>1000`.',
});

const anyOf = <S extends TSchema>(item: S, description: string) =>
  optional(doc(arrayOf(item, { maxItems: LIMITS.filterValuesMax }), description));
const value = text(LIMITS.identityLengthMax);

export type TimeRange = Static<typeof TimeRange>;
export const TimeRange = strictObject('TimeRange', 'Both ends are included.', {
  from: optional(Instant),
  to: optional(Instant),
});

export type SearchFilters = Static<typeof SearchFilters>;
const filterRules =
  'OR within a filter, AND between filters; case counts, except in a UUID; an empty list is no filter.';
export const SearchFilters = strictObject('SearchFilters', filterRules, {
  actorIds: anyOf(value, '`userId` or `serviceId` of the actor; a trailing `*` is a prefix.'),
  actorTypes: anyOf(ActorType, 'Kinds of actor.'),
  actions: anyOf(value, 'Actions; a trailing `*` is a prefix.'),
  resourceTypes: anyOf(value, 'Types of resource; a trailing `*` is a prefix.'),
  resourceIds: anyOf(value, 'Resources; a trailing `*` is a prefix.'),
  timeRange: optional(TimeRange),
  classifications: anyOf(Classification, 'Classifications.'),
  outcomes: anyOf(EventOutcome, 'Outcomes.'),
  correlationIds: anyOf(CorrelationId, 'Correlations; case does not count.'),
  streamIds: anyOf(StreamId, 'Streams.'),
  kinds: anyOf(EventKind, 'Events only, unless notices are asked for.'),
});

export const SortOrder = choice('SortOrder', 'Ascending or descending.', ['asc', 'desc']);

export type SearchSort = Static<typeof SearchSort>;
export const SearchSort = strictObject('SearchSort', 'One step of a sort order.', {
  field: choice(
    'SearchSortField',
    'What to sort by. `relevance` comes first, and what follows it has no effect: it weighs the newest 1000 matches, and ' +
      'of equal ones the last that arrived is first.',
    ['timestamp', 'eventId', 'action', 'relevance'],
  ),
  order: optional(doc(SortOrder, 'When absent: `desc` for `relevance`, else `asc`.')),
});

export const SortSteps = doc(
  arrayOf(SearchSort, { maxItems: LIMITS.sortFieldsMax }),
  'Newest first when absent. By `relevance` there is one page and no cursor.',
);

export const Aggregation = choice('Aggregation', 'A count of results by one of their properties.', [
  'byAction',
  'byActor',
  'byResource',
  'byClassification',
  'byDay',
  'byHour',
  'byActorType',
  'byOutcome',
]);
export type Aggregation = Static<typeof Aggregation>;

export type SearchRequest = Static<typeof SearchRequest>;
export const SearchRequest = strictObject(
  'SearchRequest',
  'All members are optional; none means everything.',
  {
    query: optional(QueryText),
    filters: optional(SearchFilters),
    sort: optional(SortSteps),
    pagination: optional(strictObject('SearchPaging', 'Which page.', PAGING)),
    aggregations: optional(arrayOf(Aggregation, { maxItems: 8 })),
  },
);

export type SearchHit = Static<typeof SearchHit>;
export const SearchHit = object('SearchHit', 'An event that was found.', {
  ...AuditEvent.properties,
  score: optional(doc(Type.Number(), 'Relevance; only comparable within one answer.')),
  highlights: optional(
    mapOf(arrayOf(Type.String()), {
      description: 'Fragments by field, with what was found between « and ».',
    }),
  ),
});

export type Bucket = Static<typeof Bucket>;
export const Bucket = object('Bucket', 'One value and how often it occurs.', {
  key: Type.String({
    description:
      'The value. Of an actor: `userId`, else `serviceId`, else its name, else its type. Of a day `2026-01-02`, of an hour ' +
      '`2026-01-02T03:00:00.000Z`.',
  }),
  label: optional(Type.String({ description: 'The key for people, where there is one.' })),
  count: Count,
});

const buckets = optional(arrayOf(Bucket));

export type Aggregations = Static<typeof Aggregations>;
export const Aggregations = object(
  'Aggregations',
  'The most frequent values; of days and hours the newest.',
  {
    byAction: buckets,
    byActor: buckets,
    byResource: buckets,
    byClassification: buckets,
    byDay: buckets,
    byHour: buckets,
    byActorType: buckets,
    byOutcome: buckets,
    otherCount: optional(
      mapOf(Count, { description: 'By aggregation, the results in no bucket shown; left out when 0.' }),
    ),
  },
);

export type SearchMetadata = Static<typeof SearchMetadata>;
export const SearchMetadata = object('SearchMetadata', 'How the answer came about.', {
  queryTimeMs: Milliseconds,
  indexVersion: Type.String(),
  projectionLagMs: doc(Milliseconds, 'How far the index is behind the log.'),
  truncated: doc(
    Type.Boolean(),
    'True on the page that reaches the cap of results, and where a page by `relevance` could not hold all that it should.',
  ),
});

export type SearchAnswer = Static<typeof SearchAnswer>;
export const SearchAnswer = object('SearchAnswer', 'What was found.', {
  results: arrayOf(SearchHit),
  totalCount: Count,
  totalCountRelation: TotalRelation,
  nextCursor: orNull(Type.String()),
  hasMore: Type.Boolean(),
  aggregations: optional(Aggregations),
  aggregationsRelation: optional(TotalRelation),
  metadata: SearchMetadata,
});
