// Jobs as the values of statements.

import { ok as assert } from 'node:assert/strict';
import { LIMITS } from '@tallystick/contract';
import type { JobKey, JobState, NewJob } from '../../work/jobs.ts';
import type { JobValue } from './job-database.ts';

const REASON_LENGTH_MAX = 1000;

/** The values of the statement that fails an existing letter again. */
export function valuesOfFailure({ tenant, kind, uniqueKey, dead }: NewJob): JobValue[] {
  assert(
    dead !== undefined && uniqueKey !== undefined,
    'a message that is stored as a dead letter has a key',
  );
  return [tenant, kind, uniqueKey, reasonText(dead.reason), dead.attempts, LIMITS.deadLetterLifetimeMs];
}

/** The values of the statement that adds it. */
export function valuesOf({ once, dead, ...job }: NewJob): JobValue[] {
  const { state, due_in_ms: dueInMs, ...columns } = columnsOf(job);
  return [
    ...Object.values(columns),
    ...keyValues(once),
    dead === undefined ? state : 'Dead',
    dead?.attempts ?? 0,
    dead === undefined ? null : reasonText(dead.reason),
    dead === undefined ? 0 : 1,
    dueInMs,
    dead === undefined ? null : 0,
    dead === undefined ? null : LIMITS.deadLetterLifetimeMs,
  ];
}

/** A row of the statement that adds many; the other one takes its values in this order, and then more. */
export function columnsOf({
  tenant,
  jobId,
  kind,
  lane = '',
  uniqueKey,
  keepsKey,
  place = 0,
  body,
  dueInMs = 0,
}: Omit<NewJob, 'once' | 'dead'>) {
  return {
    tenant_id: tenant,
    job_id: jobId,
    kind,
    lane,
    unique_key: uniqueKey ?? null,
    keeps_key: keepsKey === true ? 1 : 0,
    place,
    body,
    state: stateAtFirst(dueInMs),
    due_in_ms: dueInMs,
  };
}

function stateAtFirst(dueInMs: number): JobState {
  return dueInMs > 0 ? 'Later' : 'Waiting';
}

/** A reason may hold text of an event, of any length; PostgreSQL has no text with a NUL in it. */
export function reasonText(reason: string): string {
  return reason.replaceAll('\u0000', ' ').slice(0, REASON_LENGTH_MAX);
}

export function keyValues(once: JobKey | undefined): JobValue[] {
  if (once === undefined) return [null, null, null, null, null, null];
  const { operation, key, fingerprint, classification, expiresAtMs, answer } = once;
  return [operation, key, fingerprint, classification, expiresAtMs, answer];
}
