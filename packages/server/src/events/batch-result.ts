// The answer to a batch: the outcome of each event, in the order of the request, and that of the whole. It is made the
// same way from a commit and, for a repeat, from the stored ids, places, statuses and codes.

import {
  type Answer,
  AuditError,
  type BatchItemResult,
  type BatchResult,
  ERRORS,
  type ErrorCode,
  type ErrorDetail,
  LIMITS,
} from '@tallystick/contract';
import { parseJson } from '@tallystick/evidence';
import type { Call } from '../call.ts';
import { instant } from '../runtime/clock.ts';
import type { DraftOutcome } from '../streams/log.ts';
import type { BatchFault } from './batch-request.ts';
import { conflictOf } from './conflict.ts';
import type { EventRefusal } from './validate-event.ts';

/** The outcome of a batch. */
export interface BatchOutcome {
  readonly batchId: string;
  readonly acceptedAtMs: number;
  readonly transactional: boolean;
  /** Events that were refused before anything was appended, by their place. */
  readonly refusals: ReadonlyMap<number, EventRefusal>;
  /** Of the other events, in order. */
  readonly outcomes: readonly DraftOutcome[];
}

export function batchAnswer(
  call: Call,
  outcome: BatchOutcome,
  isRepeat: boolean,
): Answer<'events.ingestBatch'> {
  const results = resultsOf(outcome);
  const totalCount = results.length;
  const failureCount = results.filter(
    ({ status }) => status === 'Rejected' || status === 'NotProcessed',
  ).length;
  const successCount = totalCount - failureCount;
  const isNew = results.some(({ status }) => status === 'Accepted');
  const kind = isRepeat ? 'Repeated' : kindOf(successCount, failureCount, isNew);
  const body: BatchResult = {
    batchId: outcome.batchId,
    tenantId: call.tenant ?? '',
    status: failureCount === 0 ? 'Completed' : successCount > 0 ? 'PartialSuccess' : 'Failed',
    transactional: outcome.transactional,
    idempotent: kind === 'Repeated',
    totalCount,
    successCount,
    failureCount,
    timestamp: instant(outcome.acceptedAtMs),
    results,
  };
  return { kind, body: kind === 'Rejected' ? { ...body, error: rejection(call, body) } : body };
}

function kindOf(successCount: number, failureCount: number, isNew: boolean) {
  if (successCount === 0) return 'Rejected';
  if (failureCount > 0) return 'Partial';
  return isNew ? 'Created' : 'Repeated';
}

/** Of all events of a batch together: no answer may outgrow its request many times. */
export const RESULT_DETAILS_MAX = 10 * LIMITS.errorDetailsMax;

function resultsOf({ refusals, outcomes }: BatchOutcome): BatchItemResult[] {
  const results: BatchItemResult[] = [];
  let next = 0;
  let detailsLeft = RESULT_DETAILS_MAX;
  for (let index = 0; index < refusals.size + outcomes.length; index++) {
    const refusal = refusals.get(index);
    if (refusal !== undefined) {
      // Its message has the first, and the number of all.
      const details = refusal.details.slice(0, Math.max(0, detailsLeft));
      detailsLeft -= details.length;
      results.push({ index, status: 'Rejected', error: { ...refusal, details } });
    } else results.push(resultOf(index, outcomes[next++]!));
  }
  return results;
}

function resultOf(index: number, outcome: DraftOutcome): BatchItemResult {
  const { status, eventId } = outcome;
  if (status === 'Appended') return { index, status: 'Accepted', eventId };
  if (status === 'Duplicate') return { index, status, eventId };
  // An id that was made for it here stands for nothing.
  if (status === 'NotAppended') return { index, status: 'NotProcessed' };
  return { index, status: 'Rejected', error: conflictOf(eventId, `events[${index}].eventId`) };
}

/** The error that goes with a batch of which nothing was stored; beside it each result has its own in full. */
function rejection({ correlation, path }: Call, { results, totalCount, timestamp }: BatchResult) {
  const { traceId, requestId } = correlation;
  const errors = results.flatMap(({ error }) => error ?? []);
  const details = detailsOf(errors).slice(0, LIMITS.errorDetailsMax);
  const message = `No event was stored: ${refusedOf(errors.length, totalCount)}.`;
  return { code: 'BATCH_REJECTED' as const, message, details, traceId, timestamp, path, requestId };
}

/** Refused events and those not processed add up to the failures. */
function refusedOf(refused: number, total: number): string {
  const others = total - refused;
  const said = `${refused} of ${total} event${total === 1 ? '' : 's'} ${refused === 1 ? 'was' : 'were'} refused`;
  if (others === 0) return said;
  const which = others === 1 ? 'one was' : `${others} were`;
  return `${said}, and the batch is transactional, so the other ${which} not processed`;
}

/** The answer to a batch with a wrong envelope: the faults of the envelope, and those of its events. */
export function refusalOfWhole(
  fault: BatchFault,
  refusals: ReadonlyMap<number, EventRefusal>,
  messageFor: (details: readonly ErrorDetail[]) => string,
): AuditError {
  const details = [...fault.details, ...detailsOf([...refusals.values()])];
  const message = fault.message ?? messageFor(details);
  return new AuditError(fault.code, message, { details: details.slice(0, LIMITS.errorDetailsMax) });
}

function detailsOf(errors: readonly Pick<EventRefusal, 'details'>[]): ErrorDetail[] {
  return errors.flatMap(({ details }) => details);
}

/** The stored note of a batch beside the outcomes, to answer a repeat. It holds no value that was sent. */
export function noteOf({ batchId, acceptedAtMs, refusals }: Omit<BatchOutcome, 'outcomes'>): string {
  const refused = [...refusals].map(([index, { code }]) => [index, code]);
  return JSON.stringify({ batchId, acceptedAtMs, refused });
}

interface Note {
  readonly batchId: string;
  readonly acceptedAtMs: number;
  readonly refused: readonly [index: number, code: ErrorCode][];
}

export function readNote(note: string): Note {
  // Nobody but noteOf writes it.
  return parseJson(note) as Note;
}

/** The refusal of an event, when only its code is known. */
export function refusalByCode(code: ErrorCode): EventRefusal {
  return { code, message: ERRORS[code].meaning, details: [] };
}
