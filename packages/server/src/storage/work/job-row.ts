// A row of jobs, for both backends.

import { CLASSIFICATIONS, type OperationName } from '@tallystick/contract';
import type { Job, JobKey, JobKind, JobState } from '../../work/jobs.ts';
import { blobOf, numberOf, numberOrNone, textIn, textOrNone } from '../rows/columns.ts';

type Row = Readonly<Record<string, unknown>>;

export function jobIn(row: Row): Job {
  return {
    tenant: textIn(row, 'tenant_id'),
    jobId: textIn(row, 'job_id'),
    // Only enqueue writes these two.
    kind: textIn(row, 'kind') as JobKind,
    state: textIn(row, 'state') as JobState,
    lane: textIn(row, 'lane'),
    body: textIn(row, 'body'),
    attempts: numberOf(row, 'attempts'),
    progress: textOrNone(row, 'progress'),
    heard: textOrNone(row, 'heard'),
    result: textOrNone(row, 'result'),
    reason: textOrNone(row, 'reason'),
    createdAtMs: numberOf(row, 'created_ms'),
    startedAtMs: numberOrNone(row, 'started_ms'),
    firstFailedAtMs: numberOrNone(row, 'first_failed_ms'),
    lastFailedAtMs: numberOrNone(row, 'last_failed_ms'),
    endedAtMs: numberOrNone(row, 'ended_ms'),
    wakeAtMs: numberOf(row, 'wake_ms'),
    isLetter: numberOf(row, 'is_letter') === 1,
    expiresAtMs: numberOrNone(row, 'expires_ms'),
  };
}

export function tokenIn(row: Row): number {
  return numberOf(row, 'token');
}

/** Undefined: it was requested without one. */
export function jobKeyIn(row: Row): JobKey | undefined {
  const key = textOrNone(row, 'key');
  if (key === undefined) return undefined;
  const classification = CLASSIFICATIONS.find((each) => each === row['classification']);
  if (classification === undefined) throw new Error('the key of a job has no classification');
  return {
    operation: textIn(row, 'operation') as OperationName,
    key,
    fingerprint: blobOf(row, 'fingerprint'),
    classification,
    expiresAtMs: numberOf(row, 'key_expires_ms'),
    answer: textIn(row, 'answer'),
  };
}

/** In the order of their keys. */
export function compared(a: Pick<Job, 'tenant' | 'jobId'>, b: Pick<Job, 'tenant' | 'jobId'>): number {
  if (a.tenant !== b.tenant) return a.tenant < b.tenant ? -1 : 1;
  return a.jobId < b.jobId ? -1 : a.jobId > b.jobId ? 1 : 0;
}
