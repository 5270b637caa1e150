// Other events that have something in common with one (version 2): the same correlation, resource or actor, as far as
// this reader may know of them. They come from the index, so one that has just arrived may be missing.

import { type AuditEvent, LIMITS, type RelatedEntity, type SearchFilters } from '@tallystick/contract';
import type { Call } from '../call.ts';
import { sightOf } from '../policies/sight.ts';
import { factOf, type FactName, type FieldName } from '../query/fields.ts';
import { isSameUuid } from '../query/filters.ts';
import type { Query } from '../query/query.ts';
import type { EventIndex, SortKey, Question } from './event-index.ts';
import { type FoundPageParts, showFound } from './found-page.ts';
import { readSort } from './question.ts';

export interface RelatedParts extends FoundPageParts {
  readonly index: Pick<EventIndex, 'forTenant'>;
}

export interface Related {
  /** One relation after the other, each newest first. */
  readonly entities: RelatedEntity[];
  /** The events that these are. */
  readonly events: readonly AuditEvent[];
}

export async function relatedTo(call: Call, event: AuditEvent, parts: RelatedParts): Promise<Related> {
  const entities: RelatedEntity[] = [];
  const events: AuditEvent[] = [];
  for (const tie of tiesOf(event)) {
    for (const other of await tiedBy(call, tie, event, parts)) {
      const { eventId, action, timestamp } = other;
      entities.push({ relation: tie.relation, eventId, action, timestamp });
      events.push(other);
    }
  }
  return { entities, events };
}

/** The values that two events must share for this relation. */
interface Tie {
  readonly relation: RelatedEntity['relation'];
  readonly facts: readonly Fact[];
}

type Fact = readonly [name: keyof typeof FILTER_OF, value: string];

/** An actor without an identifier, or a value that this reader does not see, matches nothing. */
function tiesOf(event: AuditEvent): Tie[] {
  const idOfActor = factOf(event, 'actor.userId') === undefined ? 'actor.serviceId' : 'actor.userId';
  const ties: [Tie['relation'], Fact[0][]][] = [
    ['SameCorrelation', ['correlationId']],
    ['SameResource', ['resource.resourceType', 'resource.resourceId']],
    ['SameActor', ['actor.actorType', idOfActor]],
  ];
  return ties.flatMap(([relation, names]) => {
    const facts = names.flatMap((name): Fact[] => {
      const value = factOf(event, name);
      return value === undefined ? [] : [[name, value]];
    });
    return facts.length === names.length ? [{ relation, facts }] : [];
  });
}

/** Reads portions from the index until there are enough: it also finds events that only look alike. */
async function tiedBy(
  call: Call,
  { facts }: Tie,
  event: AuditEvent,
  parts: RelatedParts,
): Promise<readonly AuditEvent[]> {
  const tied: AuditEvent[] = [];
  let beyond: SortKey | undefined;
  for (let portion = 0; portion < PORTIONS_MAX; portion++) {
    const found = await parts.index
      .forTenant(call.tenant!)
      .find(questionFor(facts, call, beyond), call.deadline);
    for (const { event: other } of await showFound(call, found.events, parts)) {
      const isTied = facts.every((fact) => has(other, fact));
      if (isTied && other.eventId !== event.eventId) tied.push(other);
      if (tied.length === LIMITS.relatedEntitiesMax) return tied;
    }
    beyond = found.events.at(-1)?.place;
    if (beyond === undefined || (found.events.length < PORTION && !found.isCut)) break;
  }
  return tied;
}

function has(event: AuditEvent, [name, value]: Fact): boolean {
  const own = factOf(event, name);
  if (own === undefined) return false;
  return name === 'correlationId' ? isSameUuid(own, value) : own === value;
}

/** The event itself is one of them. */
const PORTION = LIMITS.relatedEntitiesMax + 1;
/** More near matches than this are made on purpose. */
const PORTIONS_MAX = 50;

function questionFor(facts: readonly Fact[], call: Call, beyond: SortKey | undefined): Question {
  return {
    query: queryFor(facts),
    filters: filtersFor(facts),
    sight: sightOf(call).index,
    order: readSort(['-timestamp']),
    direction: 'Next',
    beyond,
    rowsMax: PORTION,
    aggregations: [],
    isScored: false,
  };
}

const FILTER_OF = {
  correlationId: 'correlationIds',
  'resource.resourceType': 'resourceTypes',
  'resource.resourceId': 'resourceIds',
  'actor.actorType': 'actorTypes',
  'actor.userId': 'actorIds',
  'actor.serviceId': 'actorIds',
} as const satisfies Partial<Record<FactName & FieldName, keyof SearchFilters>>;

/** A query ignores case, and a filter reads a star at the end as a prefix, so both are asked. */
function queryFor(facts: readonly Fact[]): Query {
  return {
    kind: 'And',
    of: facts.map(([name, text]) => ({ kind: 'Value', field: { name }, text, prefix: false })),
  };
}

function filtersFor(facts: readonly Fact[]): SearchFilters {
  return Object.fromEntries(facts.map(([name, value]) => [FILTER_OF[name], [value]]));
}
