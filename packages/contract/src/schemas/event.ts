// An event as a caller sends it (EventDraft) and as the service shows it (AuditEvent), with what may stand in its
// place: a tombstone once its content is expired, a withheld one in a stream page of a reader who may not see it.

import type { Static } from 'typebox';
import { LIMITS } from '../limits.ts';
import {
  addedIn,
  arrayOf,
  byDefault,
  choice,
  doc,
  either,
  freeObject,
  keptAsText,
  object,
  optional,
  strictObject,
} from '../schema.ts';
import { Type } from '../type.ts';
import {
  CallerName,
  Classification,
  CorrelationId,
  Count,
  EventId,
  Hash,
  Instant,
  OwnTenantId,
  PolicyId,
  Sequence,
  StreamId,
  TenantId,
  text,
} from './primitives.ts';

const identity = (description: string) => text(LIMITS.identityLengthMax, description);

export const ACTOR_TYPES = ['User', 'Service', 'System'] as const;
export const ActorType = choice('ActorType', 'What kind of party acted.', ACTOR_TYPES);

export type Actor = Static<typeof Actor>;
export const Actor = strictObject('Actor', 'Who acted, as the producer of the event says.', {
  actorType: ActorType,
  userId: optional(identity('The user, where a user acted.')),
  userName: optional(text(LIMITS.userNameLengthMax, 'E-mail address or user name.')),
  serviceId: optional(identity('The service, where a service acted.')),
  serviceName: optional(identity('Its name.')),
});

export type Resource = Static<typeof Resource>;
export const Resource = strictObject(
  'Resource',
  'What was acted upon. The service keeps no register of resources.',
  {
    resourceType: identity('Its type.'),
    resourceId: identity('Its identifier.'),
    resourceName: optional(identity('Its name, for people.')),
  },
);

export const Action = Type.String({
  minLength: LIMITS.actionLengthMin,
  maxLength: LIMITS.actionLengthMax,
  pattern: '^[A-Za-z]+\\.[A-Za-z]+$',
  'x-expected': 'letters (A to Z, a to z), a dot, letters, like Delete.Invoice',
  description: 'What was done, as `Verb.Noun`: `Delete.Invoice`.',
});

export const EVENT_OUTCOMES = ['Success', 'Failure', 'Denied'] as const;
export const EventOutcome = choice('EventOutcome', 'How the action ended.', EVENT_OUTCOMES);

export const EventKind = choice(
  'EventKind',
  'Event: sent by a caller. Notice: what the service records about its own acts.',
  ['Event', 'Notice'],
);

export type EventDraft = Static<typeof EventDraft>;
export const EventDraft = strictObject(
  'EventDraft',
  'An event as it is sent, before it has a place in the log.',
  {
    timestamp: doc(
      Instant,
      'When the action occurred; at most 5 minutes ahead. Kept with its fraction as sent.',
    ),
    actor: Actor,
    action: Action,
    resource: Resource,
    context: optional(
      keptAsText(freeObject('Circumstances, such as `ipAddress`, `userAgent`, `sessionId`. At most 64 KB.')),
    ),
    payload: optional(keptAsText(freeObject('Data of the event itself. At most 64 KB.'))),
    correlationId: optional(
      doc(CorrelationId, "Taken from the request's correlation id, or made, when absent."),
    ),
    eventId: optional(
      doc(EventId, "The producer's own ULID; the same event sent twice is then stored once."),
    ),
    outcome: optional(byDefault(EventOutcome, 'Success')),
    classification: optional(
      doc(Classification, 'A hint: it may raise what the service decides, never lower it.'),
    ),
    tenantId: optional(OwnTenantId),
  },
);

export const IntegrityStatus = choice(
  'IntegrityStatus',
  'Chained: in the hash chain. Checkpointed: under a signed checkpoint. Witnessed: that checkpoint is cosigned.',
  ['Chained', 'Checkpointed', 'Witnessed'],
);

export type EventIntegrity = Static<typeof EventIntegrity>;
export const EventIntegrity = object('EventIntegrity', "The event's place in the tamper-evident log.", {
  streamId: StreamId,
  leafIndex: doc(Count, 'Place in the tree, from 0.'),
  leafHash: Hash,
  previousHash: doc(Hash, 'The leaf hash of the entry before.'),
  status: IntegrityStatus,
});

export const RedactionReason = choice('RedactionReason', 'Why fields are not shown.', [
  'ClassificationAboveClearance',
  'AccessPolicy',
  'RedactedAtRest',
]);

export type EventRedaction = Static<typeof EventRedaction>;
export const EventRedaction = object('EventRedaction', 'What this reader does not get to see.', {
  fields: arrayOf(Type.String({ description: 'Path, such as `payload.iban`.' })),
  reason: RedactionReason,
});

export type EventRetention = Static<typeof EventRetention>;
export const EventRetention = object('EventRetention', 'How long the content is kept.', {
  policyId: optional(PolicyId),
  expiresAt: doc(Instant, 'When the content may be removed: the retention period after `receivedAt`.'),
  legalHold: doc(Type.Boolean(), 'While true, nothing expires.'),
});

export const Relation = choice('Relation', 'What two events have in common.', [
  'SameCorrelation',
  'SameResource',
  'SameActor',
]);

export type RelatedEntity = Static<typeof RelatedEntity>;
export const RelatedEntity = object(
  'RelatedEntity',
  'Another event that has something in common with this one.',
  {
    relation: Relation,
    eventId: EventId,
    action: Action,
    timestamp: Instant,
  },
);

export type AuditEvent = Static<typeof AuditEvent>;
export const AuditEvent = object('AuditEvent', 'A stored event, as this reader may see it.', {
  eventId: EventId,
  tenantId: TenantId,
  kind: EventKind,
  sequence: doc(Sequence, "Place in the tenant's log, from 1, without gaps."),
  timestamp: doc(Instant, 'When the action occurred, in UTC.'),
  receivedAt: doc(Instant, 'When the service accepted it.'),
  correlationId: CorrelationId,
  actor: Actor,
  action: Action,
  resource: Resource,
  classification: Classification,
  outcome: EventOutcome,
  context: optional(freeObject('Circumstances; `{}` when withheld.')),
  payload: optional(freeObject('Data of the event; `{}` when withheld.')),
  submittedBy: doc(
    CallerName,
    'Whom the service authenticated as the sender: `key:…`, `token:…` or `system`. Hashed with the event.',
  ),
  redaction: optional(EventRedaction),
  retention: optional(EventRetention),
  integrity: EventIntegrity,
  relatedEntities: addedIn(
    'v2',
    optional(doc(arrayOf(RelatedEntity), 'Where `includeRelatedEntities` was asked.')),
  ),
});

export type Tombstone = Static<typeof Tombstone>;
export const Tombstone = object('Tombstone', 'What is left of an event whose content is expired.', {
  eventId: EventId,
  tenantId: TenantId,
  kind: EventKind,
  sequence: Sequence,
  receivedAt: Instant,
  purgedAt: Instant,
  integrity: EventIntegrity,
});

export type StoredEvent = Static<typeof StoredEvent>;
export const StoredEvent = either('StoredEvent', 'An event, or its tombstone (the one with `purgedAt`).', [
  AuditEvent,
  Tombstone,
]);

export const WithheldReason = choice(
  'WithheldReason',
  'Why only the place is shown: the reader may not see the event; its content is no longer kept; or the stored event differs from what was accepted, and nothing of it is to be believed.',
  ['Clearance', 'Purged', 'Altered'],
);

export type WithheldEvent = Static<typeof WithheldEvent>;
export const WithheldEvent = object('WithheldEvent', 'The place of an event that this reader does not see.', {
  sequence: Sequence,
  eventId: EventId,
  withheld: WithheldReason,
  integrity: EventIntegrity,
});

export type StreamEvent = Static<typeof StreamEvent>;
export const StreamEvent = either('StreamEvent', 'An event, or its bare place (the one with `withheld`).', [
  AuditEvent,
  WithheldEvent,
]);

export type IngestReceipt = Static<typeof IngestReceipt>;
export const IngestReceipt = object('IngestReceipt', 'The event is durable and in the hash chain.', {
  eventId: EventId,
  tenantId: TenantId,
  status: Type.Literal('Accepted'),
  timestamp: doc(Instant, 'When the service accepted it.'),
  message: Type.String(),
  idempotent: doc(Type.Boolean(), 'True when this was recognised as a repeat and nothing was stored.'),
});
