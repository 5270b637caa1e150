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
import { readTask } from '../webhooks/task.ts';
import { acceptJob, jobOperation, keepAnswer } from '../work/job-keys.ts';
import type { Job, JobKind, WorkStore } from '../work/jobs.ts';

/** Their number, for status and metrics. */
export interface DeadLetterCounts {
  readonly ofTenant: (tenant: TenantId) => Promise<number>;
  readonly ofAll: () => Promise<number>;
}

export interface LetterParts extends IdempotencyTime {
  readonly work: WorkStore;
  readonly cursors: Cursors;
  readonly nextId: () => string;
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
      const { source, status = ['Held', 'Reprocessing'], subscriptionId } = input;
      const states = {
        isWaiting: status.includes('Held'),
        isRetried: status.includes('Reprocessing'),
        kinds: kindsOf(source, subscriptionId),
        lane: subscriptionId,
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
      if (letter?.isLetter !== true) throw notFound();
      const body: DeadLetter = { ...shown(tenant, letter), status: 'Reprocessing' };
      // It is being tried again already.
      if (letter.state !== 'Dead') return keepAnswer(call, body, parts);
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
    'deadLetters.reprocessAll': jobOperation((call, input: InputOf<'deadLetters.reprocessAll'>) =>
      reprocessAll(call, input, parts),
    ),
  };
}

const SOURCES: Readonly<Partial<Record<JobKind, DeadLetter['source']>>> = {
  Delivery: 'Webhook',
  Export: 'Export',
  ExportDelivery: 'Export',
  IndexEvent: 'Projection',
};

/** Only deliveries have a subscription: it is their lane. */
function kindsOf(
  source: readonly DeadLetter['source'][] | undefined,
  subscriptionId: string | undefined,
): JobKind[] {
  return (Object.keys(SOURCES) as JobKind[]).filter(
    (kind) =>
      (source?.includes(SOURCES[kind]!) ?? true) && (subscriptionId === undefined || kind === 'Delivery'),
  );
}

async function reprocessAll(
  call: Call,
  { reprocess: { source, subscriptionId, status = 'Held' } = {} }: InputOf<'deadLetters.reprocessAll'>,
  parts: LetterParts,
) {
  const letters = parts.work.forTenant(call.tenant!);
  const kinds = kindsOf(source && [source], subscriptionId);
  let count = 0;
  for (let portion = status === 'Held' ? Infinity : 0; portion > 0; count += portion) {
    call.deadline.throwIfPassed();
    portion = await letters.retryAll(kinds, subscriptionId);
  }
  for (const kind of kinds) if (count > 0) parts.wake(kind);
  return keepAnswer(call, { count }, parts);
}

function notFound(): AuditError {
  return new AuditError('MESSAGE_NOT_FOUND', ERRORS.MESSAGE_NOT_FOUND.meaning);
}

function shown(tenantId: TenantId, { jobId, kind, lane, state, reason, attempts, ...job }: Job): DeadLetter {
  const lastFailedAtMs = job.lastFailedAtMs ?? job.createdAtMs;
  return {
    messageId: jobId,
    source: SOURCES[kind] ?? 'Projection',
    tenantId,
    ...(kind === 'Delivery' && { subscriptionId: lane, webhookId: readTask(job.body).webhookId }),
    // Of an export and its deliveries, the lane is the export.
    ...((kind === 'Export' || kind === 'ExportDelivery') && { exportId: lane }),
    reason: reason ?? '',
    attempts,
    firstFailedAt: instant(job.firstFailedAtMs ?? lastFailedAtMs),
    lastFailedAt: instant(lastFailedAtMs),
    expiresAt: instant(job.expiresAtMs ?? lastFailedAtMs + LIMITS.deadLetterLifetimeMs),
    status: state === 'Dead' ? 'Held' : 'Reprocessing',
  };
}

export function letterCounts(work: WorkStore): DeadLetterCounts {
  return {
    ofTenant: (tenant) => work.forTenant(tenant).letterCountOfTenant(),
    ofAll: () => work.letterCountOfAll(),
  };
}
