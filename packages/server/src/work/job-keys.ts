// Idempotency keys of requests that ask for a job and write nothing to the log: they are stored with the job, together with the
// answer that was given, so that every node gives it again.

import { LIMITS, type OperationName, type TenantId } from '@tallystick/contract';
import { parseJson } from '@tallystick/evidence';
import { type Call, keyReused } from '../call.ts';
import { isRepeat, UNCLASSIFIED } from '../repeats.ts';
import type { UsedIdempotencyKey } from '../streams/log.ts';
import { idempotencyNowMs, type IdempotencyTime } from '../streams/append/idempotency-key.ts';
import type { KindOfWork } from './workers.ts';
import type { JobKey, KeyUsed, UsedJobKey, WorkStore } from './jobs.ts';

export interface JobAnswer<B, K extends 'Accepted' | 'Done' = 'Accepted'> {
  readonly kind: K | 'Repeated';
  readonly body: B;
}

/** Binds an operation that asks for a job with `acceptJob`. */
export function jobOperation<I, B, K extends 'Accepted' | 'Done' = 'Accepted'>(
  perform: (call: Call, input: I) => Promise<JobAnswer<B, K>>,
) {
  return {
    perform,
    keyKeptWith: 'Job',
    answerAgain: (_: Call, __: unknown, { note }: UsedIdempotencyKey) =>
      ({ kind: 'Repeated', body: parseJson(note) as B }) as const,
  } as const;
}

/**
 * Stores a job with `body`, the answer to its request, and gives that answer; or gives the first answer, if the request is a
 * repeat. `onStored` sees what else the store may have said, and throws if that is a refusal.
 */
export async function acceptJob<B extends object, S extends { readonly status: string }>(
  call: Call,
  body: B,
  time: IdempotencyTime,
  store: (once: JobKey | undefined) => Promise<S | KeyUsed>,
  onStored: (stored: S) => void,
): Promise<JobAnswer<B>> {
  const stored = await store(jobKeyOf(call, body, time));
  if (isKeyUsed(stored)) return { kind: 'Repeated', body: parseJson(firstAnswer(call, stored.used)) as B };
  onStored(stored);
  return { kind: 'Accepted', body };
}

/**
 * Keeps the answer of an operation that asks for no job, so that a repeat gets it again: with a job that does nothing. Of two requests that
 * run at the same time both act, and both get the answer of the first to end.
 */
export async function keepAnswer<B extends object>(
  call: Call,
  body: B,
  { work, nextId, ...time }: IdempotencyTime & AnswerParts,
): Promise<JobAnswer<B>> {
  if (call.once === undefined) return { kind: 'Accepted', body };
  const jobs = work.forTenant(call.tenant!);
  const job = { jobId: nextId(), kind: 'Answer', body: '{}' } as const;
  return acceptJob(
    call,
    body,
    time,
    (once) => jobs.enqueue({ ...job, once }),
    () => {},
  );
}

/** The store of the answers that are kept. */
export interface AnswerParts {
  readonly work: Pick<WorkStore, 'forTenant'>;
  readonly nextId: () => string;
}

/** Of the jobs that keep answers. */
export const ANSWER_WORK: KindOfWork = {
  kind: 'Answer',
  atOnce: 100,
  perLane: 100,
  attemptsMax: 1,
  handle: async () => ({ status: 'Done' }),
};

function isKeyUsed(stored: { readonly status: string }): stored is KeyUsed {
  return stored.status === 'KeyUsed';
}

/** The idempotency key to store with the job, with the first answer; undefined if the request has none. */
function jobKeyOf(
  { once, operation, tenantRecord }: Call,
  body: object,
  time: IdempotencyTime,
): JobKey | undefined {
  if (once === undefined || tenantRecord === undefined) return undefined;
  return {
    operation,
    key: once.key,
    fingerprint: once.fingerprint(tenantRecord),
    classification: UNCLASSIFIED,
    expiresAtMs: idempotencyNowMs(time) + LIMITS.idempotencyWindowMs,
    answer: JSON.stringify(body),
  };
}

/** For the gateway: the request that used a key. */
export async function findJobKey(
  work: WorkStore,
  tenant: TenantId,
  operation: OperationName,
  key: string,
  steadyNowMs: number,
): Promise<UsedIdempotencyKey | undefined> {
  const used = await work.forTenant(tenant).usedKey(operation, key, steadyNowMs);
  return used && { ...used, note: used.answer, outcomes: [] };
}

/** The answer to the first request with this key; the store decides which came first. Throws if this is no repeat. */
function firstAnswer({ once, tenantRecord, caller }: Call, used: UsedJobKey): string {
  const fingerprint = tenantRecord && once?.fingerprint(tenantRecord);
  if (!isRepeat(used, { fingerprint, clearance: caller!.clearance })) throw keyReused();
  return used.answer;
}
