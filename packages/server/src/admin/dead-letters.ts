// Lists dead letters, which are jobs that ran out of attempts, and retries them. The kind of a job names its source.

import {
  type Answer,
  AuditError,
  type DeadLetter,
  ERRORS,
  type InputOf,
  LIMITS,
  type TenantId,
} from '@tallystick/contract';
import type { Call } from '../call.ts';
import { type Cursors, isId, newestFirst, readPage } from '../paging.ts';
import { instant } from '../runtime/clock.ts';
import type { IdempotencyTime } from '../streams/append/idempotency-key.ts';
import { acceptJob, jobOperation } from '../work/job-keys.ts';
import type { Job, WorkStore } from '../work/jobs.ts';

/** Their number, for status and metrics. */
export interface DeadLetterCounts {
  readonly ofTenant: (tenant: TenantId) => Promise<number>;
  readonly ofAll: () => Promise<number>;
}

export interface LetterParts extends IdempotencyTime {
  readonly work: WorkStore;
  readonly cursors: Cursors;
  /** There is a job of this kind to do. */
  readonly wake: (kind: Job['kind']) => void;
}

export function createDeadLetters(parts: LetterParts) {
  const { work, cursors } = parts;
  return {
    async 'deadLetters.list'(
      call: Call,
      input: InputOf<'deadLetters.list'>,
    ): Promise<Answer<'deadLetters.list'>> {
      const tenant = call.tenant!;
      const read = readPage(cursors, call, input, isId);
      // All are of the index, which is a projection; no letter has a subscription yet.
      const { source = ['Projection'], status = ['Held', 'Reprocessing'], subscriptionId } = input;
      const isAsked = source.includes('Projection') && subscriptionId === undefined;
      const states = {
        isWaiting: isAsked && status.includes('Held'),
        isRetried: isAsked && status.includes('Reprocessing'),
      };
      const letters = work.forTenant(tenant);
      const rows = await letters.letters({ ...newestFirst(read), ...states });
      const { data, pagination } = read.page(rows, ({ jobId }) => jobId, await letters.letterCount(states));
      return { kind: 'Done', body: { data: data.map((job) => shown(tenant, job)), pagination } };
    },
    'deadLetters.reprocess': jobOperation(async (call, { messageId }: InputOf<'deadLetters.reprocess'>) => {
      const tenant = call.tenant!;
      const jobs = work.forTenant(tenant);
      const letter = await jobs.find(messageId);
      if (letter?.state !== 'Dead') throw notFound();
      const body: DeadLetter = { ...shown(tenant, letter), status: 'Reprocessing' };
      return acceptJob(
        call,
        body,
        parts,
        (once) => jobs.retry(messageId, once),
        ({ status }) => {
          if (status === 'Unknown') throw notFound();
          parts.wake(letter.kind);
        },
      );
    }),
  };
}

function notFound(): AuditError {
  return new AuditError('MESSAGE_NOT_FOUND', ERRORS.MESSAGE_NOT_FOUND.meaning);
}

function shown(tenantId: TenantId, { jobId, state, reason, attempts, ...job }: Job): DeadLetter {
  const lastFailedAtMs = job.lastFailedAtMs ?? job.createdAtMs;
  return {
    messageId: jobId,
    source: 'Projection',
    tenantId,
    reason: reason ?? '',
    attempts,
    firstFailedAt: instant(job.firstFailedAtMs ?? lastFailedAtMs),
    lastFailedAt: instant(lastFailedAtMs),
    expiresAt: instant(lastFailedAtMs + LIMITS.deadLetterLifetimeMs),
    status: state === 'Dead' ? 'Held' : 'Reprocessing',
  };
}

export function letterCounts(work: WorkStore): DeadLetterCounts {
  return {
    ofTenant: (tenant) => work.forTenant(tenant).letterCount({ isWaiting: true, isRetried: true }),
    ofAll: () => work.letterCountOfAll(),
  };
}
