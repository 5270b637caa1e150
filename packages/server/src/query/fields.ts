// The fields of a query that have names, and what each looks at. Identifiers, types and choices are compared as a
// whole; names are for people and are searched by their words; times are compared. All else is below context and
// payload.

import { ACTOR_TYPES, type AuditEvent, CLASSIFICATIONS, EVENT_OUTCOMES } from '@tallystick/contract';
import { isRedacted } from './event-tokens.ts';
import type { QueriedEvent } from './queried-event.ts';

export interface FieldRule {
  /** Compared as a whole. */
  readonly whole?: readonly FactName[];
  /** Searched by words. */
  readonly words?: readonly FactName[];
  readonly time?: TimeName;
  /** The only values there are. */
  readonly choices?: readonly string[];
}

export type TimeName = 'timestamp' | 'receivedAt';

const KINDS = ['Event', 'Notice'] as const satisfies readonly AuditEvent['kind'][];

export const FIELDS = {
  action: { whole: ['action'] },
  actor: { whole: ['actor.userId', 'actor.serviceId'], words: ['actor.userName', 'actor.serviceName'] },
  'actor.actorType': { whole: ['actor.actorType'], choices: ACTOR_TYPES },
  'actor.userId': { whole: ['actor.userId'] },
  'actor.userName': { words: ['actor.userName'] },
  'actor.serviceId': { whole: ['actor.serviceId'] },
  'actor.serviceName': { words: ['actor.serviceName'] },
  resource: { whole: ['resource.resourceType', 'resource.resourceId'], words: ['resource.resourceName'] },
  'resource.resourceType': { whole: ['resource.resourceType'] },
  'resource.resourceId': { whole: ['resource.resourceId'] },
  'resource.resourceName': { words: ['resource.resourceName'] },
  classification: { whole: ['classification'], choices: CLASSIFICATIONS },
  outcome: { whole: ['outcome'], choices: EVENT_OUTCOMES },
  kind: { whole: ['kind'], choices: KINDS },
  correlationId: { whole: ['correlationId'] },
  eventId: { whole: ['eventId'] },
  streamId: { whole: ['streamId'] },
  submittedBy: { whole: ['submittedBy'] },
  timestamp: { time: 'timestamp' },
  receivedAt: { time: 'receivedAt' },
} as const satisfies Record<string, FieldRule>;

export type FieldName = keyof typeof FIELDS;

export const FIELD_NAMES = Object.keys(FIELDS) as readonly FieldName[];

export function ruleOf(name: FieldName): FieldRule {
  return FIELDS[name];
}

// Members of actor and resource are also known without it; no two of them are alike.
const byName = new Map<string, FieldName>(
  FIELD_NAMES.flatMap((name) => [
    [name.toLowerCase(), name] as const,
    [name.replace(/^.*\./, '').toLowerCase(), name] as const,
  ]),
);

/** The field of that name, in any case; `resourceId` is `resource.resourceId`. */
export function fieldNamed(name: string): FieldName | undefined {
  return byName.get(name.toLowerCase());
}

const FACTS = {
  action: (event) => event.action,
  'actor.actorType': (event) => event.actor.actorType,
  'actor.userId': (event) => event.actor.userId,
  'actor.userName': (event) => event.actor.userName,
  'actor.serviceId': (event) => event.actor.serviceId,
  'actor.serviceName': (event) => event.actor.serviceName,
  'resource.resourceType': (event) => event.resource.resourceType,
  'resource.resourceId': (event) => event.resource.resourceId,
  'resource.resourceName': (event) => event.resource.resourceName,
  classification: (event) => event.classification,
  outcome: (event) => event.outcome,
  kind: (event) => event.kind,
  correlationId: (event) => event.correlationId,
  eventId: (event) => event.eventId,
  streamId: (event) => event.integrity.streamId,
  submittedBy: (event) => event.submittedBy,
} as const satisfies Record<string, (event: QueriedEvent) => string | undefined>;

export type FactName = keyof typeof FACTS;

/** A text of the event outside of context and payload; undefined where there is none that this reader sees. */
export function factOf(event: QueriedEvent, name: FactName): string | undefined {
  const fact = FACTS[name](event);
  return isRedacted(event, fact, () => name) ? undefined : fact;
}
