// Events: sending them, finding them, proving them, and removing what must go.

import type { TSchema } from 'typebox';
import { LIMITS } from '../limits.ts';
import { json, list, operation, REVALIDATED } from '../operation.ts';
import { addedIn, arrayOf, byDefault, doc, optional, refusedAs } from '../schema.ts';
import { BatchRequest, BatchResult } from '../schemas/batch.ts';
import {
  ActorType,
  AuditEvent,
  EventDraft,
  EventKind,
  EventOutcome,
  IngestReceipt,
  StoredEvent,
} from '../schemas/event.ts';
import {
  Erasure,
  ErasureAnswer,
  ErasureRequest,
  EventExplanation,
  RedactionAnswer,
  RedactionRequest,
} from '../schemas/hold.ts';
import { PAGING } from '../schemas/list.ts';
import {
  Classification,
  CorrelationId,
  ErasureId,
  EventId,
  Instant,
  OwnTenantId,
  StreamId,
  text,
} from '../schemas/primitives.ts';
import { QueryText, SearchAnswer, SearchRequest } from '../schemas/search.ts';
import { EventProof } from '../schemas/stream.ts';
import { Type } from '../type.ts';

const eventId = refusedAs('EVENT_NOT_FOUND', EventId);
const erasureId = refusedAs('OPERATION_NOT_FOUND', ErasureId);
const value = text(LIMITS.identityLengthMax);
const any = <S extends TSchema>(item: S, description: string) =>
  optional(doc(arrayOf(item, { minItems: 1, maxItems: LIMITS.filterValuesMax }), description));

const startTime = optional(doc(Instant, 'Not before; this instant included.'));
const endTime = optional(doc(Instant, 'Not after; this instant included.'));

const sortStep = Type.String({
  pattern: '^(-?(timestamp|eventId|action)|(timestamp|eventId|action):(asc|desc))$',
  'x-expected': 'timestamp, eventId or action; for descending order with a - before it, like -timestamp',
});
const sortSteps = doc(
  arrayOf(sortStep, { minItems: 1, maxItems: LIMITS.sortFieldsMax }),
  '`timestamp`, `eventId` or `action`; descending with `-` before it or `:desc` after it.',
);
const sort = optional(refusedAs('INVALID_SORT', byDefault(sortSteps, ['-timestamp'])));

export const EVENT_OPERATIONS = [
  operation({
    name: 'events.ingest',
    summary: 'Store one event, durable and chained before the answer',
    effect: 'Write',
    permission: 'audit.events.write',
    rated: true,
    input: { event: EventDraft },
    output: json(IngestReceipt),
    answers: {
      Created: 'Stored and chained.',
      Repeated: 'Recognised by its key or its event id; nothing stored.',
    },
    errors: ['PAYLOAD_TOO_LARGE', 'EVENT_ID_CONFLICT'],
    rest: {
      method: 'POST',
      path: '/audit-events',
      body: 'event',
      answerHeaders: { Location: '/audit-events/{eventId}', 'X-Event-Id': '{eventId}' },
    },
  }),
  operation({
    name: 'events.ingestBatch',
    summary: 'Store up to 1000 events, each on its own or all together',
    effect: 'Write',
    permission: 'audit.events.write',
    rated: true,
    bodyBytesMax: LIMITS.batchBytesMax,
    timeout: { ms: LIMITS.batchTimeoutMs, error: 'BATCH_TIMEOUT' },
    input: { batch: BatchRequest },
    output: json(BatchResult),
    answers: {
      Created: 'All events are stored.',
      Partial: 'Some events are stored, some refused.',
      Rejected: 'No event is stored.',
      Repeated: 'Recognised by its key, or all events were stored before.',
    },
    errors: ['BATCH_REJECTED'],
    // No Location: a batch makes many things, and each result names its event.
    rest: { method: 'POST', path: '/audit-events/batch', body: 'batch' },
  }),
  operation({
    name: 'events.list',
    summary: 'List events by filters, newest first',
    effect: 'Read',
    permission: 'audit.events.read',
    input: {
      tenantId: optional(OwnTenantId),
      actorId: any(value, '`userId` or `serviceId` of the actor; a trailing `*` is a prefix.'),
      actorType: any(ActorType, 'Kind of actor.'),
      action: any(value, 'Action; a trailing `*` is a prefix.'),
      resourceId: any(value, 'Resource; a trailing `*` is a prefix.'),
      resourceType: any(value, 'Type of resource; a trailing `*` is a prefix.'),
      classification: any(Classification, 'Classification.'),
      outcome: any(EventOutcome, 'Outcome.'),
      correlationId: any(CorrelationId, 'Correlation; case does not count.'),
      streamId: any(StreamId, 'Stream.'),
      kind: any(EventKind, 'Events only, unless notices are asked for.'),
      startTime,
      endTime,
      q: optional(QueryText),
      sort,
      ...PAGING,
    },
    output: list(AuditEvent),
    answers: { Done: 'A page of events.' },
    rest: {
      method: 'GET',
      path: '/audit-events',
      answerHeaders: { 'X-Projection-Lag-Ms': '{projectionLagMs}' },
    },
  }),
  operation({
    name: 'events.get',
    summary: 'Get one event, readable from the moment it was accepted',
    effect: 'Read',
    permission: 'audit.events.read',
    input: {
      eventId,
      includeRelatedEntities: addedIn(
        'v2',
        optional(Type.Boolean({ default: false, description: 'Also name events with something in common.' })),
      ),
    },
    output: json(StoredEvent),
    answers: { Done: 'The event, or its tombstone.' },
    rest: { method: 'GET', path: '/audit-events/{eventId}', answerHeaders: REVALIDATED },
  }),
  operation({
    name: 'events.search',
    summary: 'Search events by text and filters, with counts',
    effect: 'Read',
    permission: 'audit.events.read',
    timeout: { ms: LIMITS.searchTimeoutMs, error: 'SEARCH_TIMEOUT' },
    input: { search: optional(SearchRequest) },
    output: json(SearchAnswer),
    answers: { Done: 'What was found.' },
    rest: {
      method: 'POST',
      path: '/audit-events/search',
      body: 'search',
      answerHeaders: { 'X-Projection-Lag-Ms': '{projectionLagMs}' },
    },
  }),
  operation({
    name: 'events.prove',
    summary: 'Get the proof that an event is in the log',
    effect: 'Read',
    permission: 'audit.integrity.verify',
    input: { eventId },
    output: json(EventProof),
    answers: {
      Done: 'The proof, with the fields this reader may see open. Waits for a checkpoint that covers a new event.',
    },
    rest: {
      method: 'GET',
      path: '/audit-events/{eventId}/proof',
      alsoAs: { 'text/plain': 'A `c2sp.org/tlog-proof@v1` text.' },
    },
  }),
  operation({
    name: 'events.explain',
    summary: 'Explain why an event is classified, kept and shown as it is',
    effect: 'Read',
    permission: 'audit.events.read',
    input: { eventId },
    output: json(EventExplanation),
    answers: { Done: 'The rules that applied.' },
    rest: { method: 'GET', path: '/audit-events/{eventId}/explanation' },
  }),
  operation({
    name: 'events.redact',
    summary: 'Remove fields of a stored event for good, without breaking a proof',
    effect: 'Write',
    permission: 'audit.events.redact',
    input: { eventId, redaction: RedactionRequest },
    output: json(RedactionAnswer),
    answers: {
      Done: 'The values are gone and a notice says so.',
      Accepted: 'Another caller must confirm it: the tenant wants four eyes.',
    },
    errors: ['LEGAL_HOLD_ACTIVE'],
    rest: {
      method: 'POST',
      path: '/audit-events/{eventId}/redact',
      body: 'redaction',
      // Where it waits for another caller: a receipt names no operation.
      answerHeaders: { Location: '/admin/operations/{operationId}' },
    },
  }),
  operation({
    name: 'erasures.create',
    summary: 'Erase what is stored about a person, or all content of the tenant',
    effect: 'Write',
    permission: 'audit.events.redact',
    input: { erasure: ErasureRequest },
    output: json(ErasureAnswer),
    answers: { Accepted: 'The erasure is logged and goes on, or waits for another caller to confirm it.' },
    rest: {
      method: 'POST',
      path: '/erasures',
      body: 'erasure',
      answerHeaders: { Location: '/erasures/{erasureId}' },
    },
  }),
  operation({
    name: 'erasures.get',
    summary: 'See how far an erasure has come',
    effect: 'Read',
    permission: 'audit.events.redact',
    input: { erasureId },
    output: json(Erasure),
    answers: { Done: 'The erasure.' },
    rest: { method: 'GET', path: '/erasures/{erasureId}' },
  }),
] as const;
