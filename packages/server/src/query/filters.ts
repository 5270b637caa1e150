// The filters of lists and searches: OR within a filter, AND between filters, an empty list is no filter. Unlike a
// query they compare exactly, capitals included, except for UUIDs; a `*` at the end is a prefix where SearchFilters
// says so.

import type { SearchFilters, TimeRange } from '@tallystick/contract';
import { utcTimestamp } from '../events/timestamp.ts';
import { factOf, type FactName } from './fields.ts';
import { foldText } from './fold.ts';
import type { QueriedEvent } from './queried-event.ts';
import type { Query } from './query.ts';
import { compareTimes } from './times.ts';

/** Whether an event, as this reader sees it, passes all filters. Notices pass only if they are asked for. */
export function passes(filters: SearchFilters, event: QueriedEvent): boolean {
  return (
    isAny(event, ['actor.userId', 'actor.serviceId'], filters.actorIds, startsOrIs) &&
    isAny(event, ['actor.actorType'], filters.actorTypes, is) &&
    isAny(event, ['action'], filters.actions, startsOrIs) &&
    isAny(event, ['resource.resourceType'], filters.resourceTypes, startsOrIs) &&
    isAny(event, ['resource.resourceId'], filters.resourceIds, startsOrIs) &&
    isAny(event, ['classification'], filters.classifications, is) &&
    isAny(event, ['outcome'], filters.outcomes, is) &&
    isAny(event, ['correlationId'], filters.correlationIds, isSameUuid) &&
    isAny(event, ['streamId'], filters.streamIds, is) &&
    isAny(event, ['kind'], filters.kinds?.length ? filters.kinds : ['Event'], is) &&
    isWithin(event.timestamp, filters.timeRange)
  );
}

/** A query that names kinds asks for them: without it and a filter, events alone are found. */
export function readKinds(query: Query, kinds: SearchFilters['kinds']): Pick<SearchFilters, 'kinds'> {
  if (kinds?.length) return { kinds };
  return namesKind(query) ? { kinds: ['Event', 'Notice'] } : {};
}

function namesKind(query: Query): boolean {
  if (query.kind === 'And' || query.kind === 'Or') return query.of.some(namesKind);
  if (query.kind === 'Not') return namesKind(query.of);
  return query.kind !== 'Text' && query.field.name === 'kind';
}

type Comparing = (fact: string, asked: string) => boolean;

const is: Comparing = (fact, asked) => fact === asked;

/** RFC 9562: case does not count. Events keep theirs as it was sent. */
export const isSameUuid: Comparing = (fact, asked) => foldText(fact) === foldText(asked);

const startsOrIs: Comparing = (fact, asked) =>
  asked.endsWith('*') ? fact.startsWith(asked.slice(0, -1)) : fact === asked;

function isAny(
  event: QueriedEvent,
  names: readonly FactName[],
  asked: readonly string[] | undefined,
  compare: Comparing,
): boolean {
  if (asked === undefined || asked.length === 0) return true;
  const facts = names.map((name) => factOf(event, name)).filter((fact) => fact !== undefined);
  return facts.some((fact) => asked.some((value) => compare(fact, value)));
}

/** Both ends are included. */
function isWithin(timestamp: string, { from, to }: TimeRange = {}): boolean {
  return (
    (from === undefined || compareTimes(timestamp, utcTimestamp(from)) >= 0) &&
    (to === undefined || compareTimes(timestamp, utcTimestamp(to)) <= 0)
  );
}
