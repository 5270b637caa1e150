// An event that could not be indexed, as the job that tries it again. It is a dead letter from its beginning: the follower has
// tried it already, and went on without it.

import type { TenantId } from '@tallystick/contract';
import type { NewJob } from '../../work/jobs.ts';

export interface IndexLetter {
  /** In the tenant's sequence. */
  readonly index: number;
  readonly reason: string;
  readonly attempts: number;
}

/** The reason given for an event that a restore removed. */
export const NO_SUCH_EVENT = 'The log has no such event.';

export function letterJob(
  tenant: TenantId,
  { index, reason, attempts }: IndexLetter,
  jobId: string,
): NewJob & Required<Pick<NewJob, 'dead' | 'uniqueKey'>> {
  const dead = { reason, attempts };
  return {
    tenant,
    jobId,
    kind: 'IndexEvent',
    uniqueKey: String(index),
    body: JSON.stringify({ index }),
    dead,
  };
}

/** What is said of an event that was read as often as a job is tried. */
export const ATTEMPTS_MAX = 3;
