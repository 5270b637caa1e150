// Verifications of streams: a stream, or a part of it, is recomputed in the background from the stored data and
// compared with a signed checkpoint; nothing is verified that no checkpoint covers. Each verification is a job, so it
// continues after a restart, and every node can report its verdict.

import { ok as assert } from 'node:assert/strict';
import {
  type Answer,
  AuditError,
  type ErrorDetail,
  ERRORS,
  type InputOf,
  LIMITS,
} from '@tallystick/contract';
import type { Call } from '../../call.ts';
import { acceptJob, jobOperation } from '../../work/job-keys.ts';
import type { Job, WorkStore } from '../../work/jobs.ts';
import type { KindOfWork } from '../../work/workers.ts';
import type { Signing } from '../../keys/signing.ts';
import type { Telemetry } from '../../telemetry.ts';
import type { LogReader, StoredStream } from '../log.ts';
import type { IdempotencyTime } from '../append/idempotency-key.ts';
import { covering, type ProvableParts, treeOf } from '../checkpoints/provable.ts';
import { streamOf } from '../stream-operations.ts';
import type { RangeVerdict, TreesWith } from '../tree.ts';
import { shownVerification } from './verification-answer.ts';
import { openResult, sealResult } from './sealed-result.ts';
import {
  progressText,
  requestIn,
  type Result,
  resultIn,
  resultText,
  type VerificationRequest,
} from './verification-texts.ts';

export interface VerificationParts extends ProvableParts, IdempotencyTime {
  readonly log: LogReader;
  readonly work: WorkStore;
  readonly signing: ProvableParts['signing'] & Pick<Signing, 'macKeys' | 'reload'>;
  readonly telemetry: Pick<Telemetry, 'error'>;
  readonly nextId: () => string;
  /** Signals that there is work. */
  readonly wakeVerification: () => void;
}

interface Range {
  readonly fromIndex: number;
  readonly endIndex: number;
}

/** Per tenant. */
export const WAITING_MAX = 10;
const KEPT_MAX = 1000;
const KEPT_MS = LIMITS.idempotencyWindowMs;
/** The number of verifications that a node runs at a time, of different tenants; others wait. */
const AT_ONCE = 2;

export function createVerifications(parts: VerificationParts) {
  return {
    'streams.verify': jobOperation((call, input: InputOf<'streams.verify'>) => verify(call, input, parts)),
    'streams.getVerification': async (
      { tenant }: Call,
      { streamId, operationId }: InputOf<'streams.getVerification'>,
    ): Promise<Answer<'streams.getVerification'>> => {
      const job = await parts.work.forTenant(tenant!).find(operationId);
      const request = job?.kind === 'Verification' ? requestIn(job) : undefined;
      if (job === undefined || request?.streamId !== streamId)
        throw new AuditError('OPERATION_NOT_FOUND', ERRORS.OPERATION_NOT_FOUND.meaning);
      return { kind: 'Done', body: shownVerification(operationId, request, job, await resultOf(job, parts)) };
    },
  };
}

const FORGED: Result = {
  failureReason: 'The stored verdict is not one of this service; the diagnostics say so, too. Verify again.',
};

async function resultOf(
  job: Job,
  { signing, telemetry }: Pick<VerificationParts, 'signing' | 'telemetry'>,
): Promise<Result | undefined> {
  const { tenant, jobId, result } = job;
  if (result === undefined) return undefined;
  const text = await openResult({ ...job, result }, signing);
  if (text !== undefined) return resultIn(text);
  telemetry.error('a verdict was altered in the database', new Error(`the job ${jobId}`), { tenant });
  return FORGED;
}

async function verify(
  call: Call,
  input: InputOf<'streams.verify'>,
  parts: VerificationParts,
): Promise<Answer<'streams.verify'>> {
  const stream = await streamOf(call, input.streamId, parts.log);
  const { tenant, caller } = call;
  assert(tenant !== undefined && caller !== undefined, 'a stream has a tenant');
  const range = rangeOf(stream, input.range);
  const request: VerificationRequest = {
    streamId: stream.streamId,
    requestedBy: caller.name,
    requestedAtMs: parts.clock.now(),
    ...range,
    requiredSize: await signedSizeFor(call, range, parts),
  };
  const jobId = parts.nextId();
  const job = { jobId, kind: 'Verification', body: JSON.stringify(request) } as const;
  const limits = { waitingMax: WAITING_MAX, doneMax: KEPT_MAX };
  return acceptJob(
    call,
    shownVerification(jobId, request),
    parts,
    (once) => parts.work.forTenant(tenant).enqueue({ ...job, once }, limits),
    ({ status }) => {
      if (status === 'Full') {
        const message = `${WAITING_MAX} verifications of this tenant wait already.`;
        throw new AuditError('SERVICE_UNAVAILABLE', message);
      }
      parts.wakeVerification();
    },
  );
}

export interface RecomputeParts {
  readonly trees: TreesWith<'checkRange'>;
  readonly signing: Pick<Signing, 'publicKeys' | 'macKeys' | 'reload'>;
  readonly telemetry: Pick<Telemetry, 'error'>;
}

export function verificationWork(parts: RecomputeParts): KindOfWork {
  const { telemetry, signing } = parts;
  const ended = (job: Job, result: Result) =>
    ({ status: 'Done', result: sealResult(job, resultText(result), signing), keepMs: KEPT_MS }) as const;
  return {
    kind: 'Verification',
    atOnce: AT_ONCE,
    perLane: 1,
    attemptsMax: 1,
    async handle(job, { signal, progress }) {
      const { tenant } = job;
      const request = requestIn(job);
      const verdict = await recompute({ ...request, tenant }, parts, (checkedEvents) => {
        signal.throwIfAborted();
        progress(progressText(checkedEvents));
      });
      if (verdict.fault !== undefined) {
        const { streamId } = request;
        telemetry.error('a stream does not verify', new Error(verdict.fault.message), { tenant, streamId });
      }
      return ended(job, { verdict });
    },
    outOfAttempts: (job) => ended(job, { failureReason: 'The stream could not be read.' }),
  };
}

async function recompute(
  { tenant, streamId, fromIndex, endIndex, requiredSize }: VerificationRequest & { readonly tenant: string },
  { trees, signing }: RecomputeParts,
  onProgress: (checkedEvents: number) => void,
): Promise<RangeVerdict> {
  const request = { streamId, fromIndex, endIndex, publicKeys: signing.publicKeys() };
  const verdict = await trees.forTenant(tenant).checkRange(request, onProgress);
  if (verdict.fault !== undefined || verdict.treeSize >= requiredSize) return verdict;
  const index = Math.max(fromIndex, endIndex - requiredSize + verdict.treeSize);
  const message = `sequences ${index + 1} to ${endIndex} are not covered by a checkpoint: they are not signed`;
  return { ...verdict, fault: { index, reason: 'KEY_UNKNOWN', message } };
}

/**
 * The size of the smallest checkpoint that covers the range, once it exists: new entries wait for it. A log that ended
 * with a restore gets no more checkpoints, and the verdict says which part is not covered.
 */
async function signedSizeFor(
  call: Call,
  { fromIndex, endIndex }: Range,
  parts: VerificationParts,
): Promise<number> {
  const current = await treeOf(call, parts);
  if (fromIndex === endIndex) return 0;
  if (fromIndex >= current.firstIndex) {
    await covering(call, endIndex - 1, parts);
    return endIndex - current.firstIndex;
  }
  // A stream never spans two logs.
  const ended = await parts.trees.forTenant(call.tenant!).tree(fromIndex);
  assert(ended !== undefined, 'what is in a stream is in a log');
  return endIndex - ended.firstIndex;
}

function rangeOf({ firstIndex, endIndex }: StoredStream, range: InputOf<'streams.verify'>['range']): Range {
  const [first, last] = [firstIndex + 1, endIndex];
  const { fromSequence = first, toSequence = last } = range ?? {};
  const details: ErrorDetail[] = [];
  const refuse = (field: string, issue: string, value: number) => details.push({ field, issue, value });
  const isOutside = (sequence: number | undefined) =>
    sequence !== undefined && (sequence < first || sequence > last);
  const issue = 'must be a sequence of the stream';
  if (isOutside(range?.fromSequence)) refuse('fromSequence', issue, fromSequence);
  if (isOutside(range?.toSequence)) refuse('toSequence', issue, toSequence);
  if (details.length === 0 && range?.toSequence !== undefined && toSequence < fromSequence) {
    refuse('toSequence', 'must not be before fromSequence', toSequence);
  }
  if (details.length > 0) {
    const has = last < first ? 'is empty' : `has the sequences ${first} to ${last}`;
    const message = `The stream ${has}; ${fromSequence} to ${toSequence} is no part of it.`;
    throw new AuditError('VALIDATION_FAILED', message, { details });
  }
  return { fromIndex: fromSequence - 1, endIndex: toSequence };
}
