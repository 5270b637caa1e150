// The public form of an operation that a job performs, for what all such operations have in common.

import type { BackgroundOperation, JobStatus } from '@tallystick/contract';
import { instant } from '../runtime/clock.ts';
import type { Job } from './jobs.ts';

/** The caller that has asked for it, and the time: the body of its job has them. */
export interface Requested {
  readonly requestedBy: string;
  readonly requestedAtMs: number;
}

export interface Progress {
  readonly processedEvents: number;
  readonly totalEvents: number;
}

/** Without a job: as it was just requested. The result is that of the job. */
export function shownOperation(
  { requestedBy, requestedAtMs }: Requested,
  { processedEvents, totalEvents }: Progress,
  result: object | undefined,
  { startedAtMs, endedAtMs }: Partial<Pick<Job, 'startedAtMs' | 'endedAtMs'>> = {},
): Omit<BackgroundOperation, 'operationId' | 'kind' | 'status'> & { readonly status: JobStatus } {
  const failureReason = result && 'failureReason' in result ? String(result.failureReason) : undefined;
  const isCompleted = result !== undefined && failureReason === undefined;
  const percent = isCompleted ? 100 : Math.floor((100 * processedEvents) / Math.max(1, totalEvents));
  // The store has a clock of its own.
  const since = (ms: number) => instant(Math.max(requestedAtMs, ms));
  const unfinished = startedAtMs === undefined ? 'Pending' : 'Processing';
  return {
    status: isCompleted ? 'Completed' : failureReason === undefined ? unfinished : 'Failed',
    progress: { percent, processedEvents, totalEvents },
    requestedAt: instant(requestedAtMs),
    requestedBy,
    ...(startedAtMs === undefined ? {} : { startedAt: since(startedAtMs) }),
    ...(endedAtMs === undefined ? {} : { completedAt: since(endedAtMs) }),
    ...(failureReason === undefined ? {} : { failureReason }),
  };
}
