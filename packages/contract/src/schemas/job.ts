// Work that goes on after the answer: where it stands and how far it has come.

import type { Static } from 'typebox';
import { choice, doc, object, optional } from '../schema.ts';
import { Count, Percent } from './primitives.ts';

export type JobStatus = Static<typeof JobStatus>;
export const JobStatus = choice('JobStatus', 'Where a long-running piece of work stands.', [
  'Pending',
  'Processing',
  'Completed',
  'Failed',
]);

export type Progress = Static<typeof Progress>;
export const Progress = object('Progress', 'How far it has come.', {
  percent: Percent,
  processedEvents: Count,
  totalEvents: optional(doc(Count, 'Once known.')),
});
