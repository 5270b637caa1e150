// A batch as it came, taken apart: the envelope, and the events, each with the rules of JSON that it breaks. A fault
// of the envelope, or outside of any event, refuses the whole batch; the events are validated all the same where they can
// be told apart, so that one answer lists all faults.

import {
  AuditError,
  type BatchRequest,
  type ErrorCode,
  type ErrorDetail,
  LIMITS,
} from '@tallystick/contract';
import type { Received } from '../call.ts';
import { isObject } from './breaches.ts';

export interface ReceivedBatch {
  readonly transactional: boolean;
  /** None where they cannot be validated; then there is a fault. */
  readonly events: readonly unknown[];
  /** By the place of the event; absent: none. */
  readonly broken: ReadonlyMap<number, readonly ErrorDetail[]>;
  readonly fault: BatchFault | undefined;
}

/** The fault of the batch as a whole. */
export interface BatchFault {
  readonly code: ErrorCode;
  /** Undefined: the message follows from the details. */
  readonly message: string | undefined;
  readonly details: readonly ErrorDetail[];
}

/** Validates the input of a batch; the events themselves are not validated. Throws the error to answer. */
export type ValidateEnvelope = (received: Received) => unknown;

const NONE: ReadonlyMap<number, readonly ErrorDetail[]> = new Map();

export function openBatch(received: Received, validate: ValidateEnvelope): ReceivedBatch {
  const { broken, outside } =
    received.violations.length === 0 ? { broken: NONE, outside: [] } : divide(received.violations);
  const { batch } = received.input;
  const isClear = hasEvents(batch) && canBeValidated(batch.events, outside);
  const violations = isClear ? outside : received.violations;
  const { transactional = false, fault } = readEnvelope({ ...received, violations }, validate);
  if (received.unlisted > 0) {
    // The unlisted violations may be of any event, so no event can be called valid.
    const inEvents = isClear ? [...broken.values()].flat() : [];
    return { transactional, events: [], broken, fault: tooMany(received, fault, inEvents) };
  }
  return { transactional, events: isClear ? batch.events : [], broken, fault };
}

function hasEvents(batch: unknown): batch is { events: unknown[] } {
  return isObject(batch) && Array.isArray(batch['events']);
}

/** Where the name stands twice, nobody can tell which events a path is about. */
function canBeValidated(events: readonly unknown[], outside: readonly ErrorDetail[]): boolean {
  const isCountAllowed = events.length >= LIMITS.batchEventsMin && events.length <= LIMITS.batchEventsMax;
  return isCountAllowed && !outside.some(({ field }) => field === 'events');
}

const IN_EVENT = /^events\[(\d+)\]/;

/** A path begins with `events[7]` only inside that event: a key of that name would stand in quotes. */
function divide(violations: readonly ErrorDetail[]) {
  const broken = new Map<number, ErrorDetail[]>();
  const outside: ErrorDetail[] = [];
  for (const violation of violations) {
    const index = IN_EVENT.exec(violation.field)?.[1];
    const list = index === undefined ? outside : (broken.get(Number(index)) ?? []);
    list.push(violation);
    if (index !== undefined) broken.set(Number(index), list);
  }
  return { broken, outside };
}

interface Envelope {
  readonly transactional?: boolean;
  readonly fault?: BatchFault;
}

function readEnvelope(received: Received, validate: ValidateEnvelope): Envelope {
  const { batch } = received.input;
  try {
    const input = validate({ ...received, input: { ...received.input, batch: envelopeOf(batch) } });
    // It has just been validated.
    return (input as { batch: BatchRequest }).batch;
  } catch (error) {
    if (!(error instanceof AuditError)) throw error;
    return { fault: { code: error.code, message: undefined, details: error.details } };
  }
}

/** Validation visits everything it is given; of the events it needs only the number. */
function envelopeOf(batch: unknown): unknown {
  return hasEvents(batch) ? { ...batch, events: batch.events.map(() => 0) } : batch;
}

function tooMany(
  { violations, unlisted }: Received,
  fault: BatchFault | undefined,
  inEvents: readonly ErrorDetail[],
): BatchFault {
  const { code = 'VALIDATION_FAILED', details = [] } = fault ?? {};
  const count = violations.length + unlisted;
  const message = `${count} values break the rules of JSON; over ${violations.length} are too many to judge event by event.`;
  return {
    code,
    message: code === 'VALIDATION_FAILED' ? message : undefined,
    details: [...details, ...inEvents],
  };
}
