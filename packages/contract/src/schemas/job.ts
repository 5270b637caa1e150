// Work that goes on after the answer: where it stands and how far it has come.

import type { Static } from 'typebox';
import { choice, doc, object, optional } from '../schema.ts';
import { Type } from '../type.ts';
import { CallerName, Count, Instant, OperationId, Percent } from './primitives.ts';

export type JobStatus = Static<typeof JobStatus>;
export const JobStatus = choice('JobStatus', 'Where a long-running piece of work stands.', [
  'Pending',
  'Processing',
  'Completed',
  'Failed',
]);

/** Of work that a second caller may have to confirm. */
export const OperationStatus = choice('OperationStatus', 'Where a background operation stands.', [
  'AwaitingConfirmation',
  'Pending',
  'Processing',
  'Completed',
  'Failed',
]);

export type AwaitingConfirmation = Static<typeof AwaitingConfirmation>;
export const AwaitingConfirmation = object(
  'AwaitingConfirmation',
  'Nothing is done until another caller confirms it.',
  {
    operationId: OperationId,
    status: choice('AwaitingStatus', 'It waits.', ['AwaitingConfirmation']),
  },
);

export type Progress = Static<typeof Progress>;
export const Progress = object('Progress', 'How far it has come.', {
  percent: Percent,
  processedEvents: Count,
  totalEvents: optional(doc(Count, 'Once known.')),
});

/** What the record of every background operation has. */
export const JOB_MEMBERS = {
  operationId: OperationId,
  status: JobStatus,
  progress: Progress,
  requestedAt: Instant,
  requestedBy: CallerName,
  startedAt: optional(Instant),
  completedAt: optional(doc(Instant, 'When it was completed, or failed.')),
  failureReason: optional(Type.String()),
};
