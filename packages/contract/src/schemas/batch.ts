// Many events in one request, and the answer that says of each what became of it.

import type { Static } from 'typebox';
import { LIMITS } from '../limits.ts';
import {
  arrayOf,
  byDefault,
  choice,
  doc,
  leftToOperation,
  object,
  optional,
  refusedAs,
  strictObject,
} from '../schema.ts';
import { Type } from '../type.ts';
import { ErrorDetail, ErrorInfo } from './error.ts';
import { EventDraft } from './event.ts';
import { BatchId, Count, EventId, Instant, TenantId } from './primitives.ts';

// A bad event is refused alone: the batch is an error only when its own form is wrong.
const eventsOfBatch = arrayOf(leftToOperation(EventDraft), {
  minItems: LIMITS.batchEventsMin,
  maxItems: LIMITS.batchEventsMax,
});

export type BatchRequest = Static<typeof BatchRequest>;
export const BatchRequest = strictObject('BatchRequest', 'Up to 1000 events in one request.', {
  events: refusedAs('BATCH_SIZE_INVALID', eventsOfBatch, 'minItems', 'maxItems'),
  transactional: optional(byDefault(doc(Type.Boolean(), 'All events are stored, or none.'), false)),
});

export const BatchStatus = choice('BatchStatus', 'What became of the batch as a whole.', [
  'Completed',
  'PartialSuccess',
  'Failed',
]);

export const BatchItemStatus = choice(
  'BatchItemStatus',
  'Duplicate: stored before, counts as success. NotProcessed: sound, but its transactional batch failed.',
  ['Accepted', 'Duplicate', 'Rejected', 'NotProcessed'],
);

export type BatchItemError = Static<typeof BatchItemError>;
export const BatchItemError = object('BatchItemError', 'Why one event was refused.', {
  code: Type.String(),
  message: Type.String(),
  details: arrayOf(ErrorDetail),
});

export type BatchItemResult = Static<typeof BatchItemResult>;
export const BatchItemResult = object('BatchItemResult', 'What became of one event.', {
  index: doc(Count, 'Its place in the request, from 0.'),
  status: BatchItemStatus,
  eventId: optional(EventId),
  error: optional(BatchItemError),
});

export type BatchResult = Static<typeof BatchResult>;
export const BatchResult = object('BatchResult', 'What became of each event, in the order of the request.', {
  batchId: BatchId,
  tenantId: TenantId,
  status: BatchStatus,
  transactional: Type.Boolean(),
  idempotent: doc(Type.Boolean(), 'True when the batch was recognised as a repeat.'),
  totalCount: Count,
  successCount: Count,
  failureCount: Count,
  timestamp: Instant,
  results: arrayOf(BatchItemResult),
  error: optional(doc(ErrorInfo, 'Present when the whole batch failed.')),
});
