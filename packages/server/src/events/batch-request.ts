// A batch as it came, taken apart: its own form, which must be right as a whole, and its events, each with the rules
// of JSON that it breaks. What is broken outside of any event refuses the whole batch.

import { AuditError, type BatchRequest, type ErrorDetail } from '@tallystick/contract';
import type { Received } from '../call.ts';

export interface ReceivedBatch {
  readonly transactional: boolean;
  readonly events: readonly unknown[];
  /** By the place of the event; absent: none. */
  readonly broken: ReadonlyMap<number, readonly ErrorDetail[]>;
}

/** Validates the input of a batch; what the events are is left open. Throws what is answered. */
export type ValidateEnvelope = (received: Received) => unknown;

const NONE: ReadonlyMap<number, readonly ErrorDetail[]> = new Map();

export function openBatch(received: Received, validate: ValidateEnvelope): ReceivedBatch {
  const { broken, outside } =
    received.violations.length === 0 ? { broken: NONE, outside: [] } : divide(received);
  const { batch } = received.input;
  const events: readonly unknown[] = hasEvents(batch) ? batch.events : [];
  // Validation goes through whatever it is given; of the events it needs to know only how many there are.
  const envelope = hasEvents(batch) ? { ...batch, events: events.map(() => 0) } : batch;
  const input = validate({ ...received, input: { ...received.input, batch: envelope }, violations: outside });
  // It has just been validated.
  const { transactional = false } = (input as { batch: BatchRequest }).batch;
  return { transactional, events, broken };
}

function hasEvents(batch: unknown): batch is { events: unknown[] } {
  return typeof batch === 'object' && batch !== null && 'events' in batch && Array.isArray(batch.events);
}

const IN_EVENT = /^events\[(\d+)\]/;

/** A path begins with `events[7]` only inside that event: a key of that name would stand in quotes. */
function divide({ violations, unlisted }: Received) {
  const broken = new Map<number, ErrorDetail[]>();
  const outside: ErrorDetail[] = [];
  for (const violation of violations) {
    const index = IN_EVENT.exec(violation.field)?.[1];
    const list = index === undefined ? outside : (broken.get(Number(index)) ?? []);
    list.push(violation);
    if (index !== undefined) broken.set(Number(index), list);
  }
  // Whose the others are is not known, so no event can be called sound.
  if (unlisted > 0) throw tooMany(violations, unlisted);
  return { broken, outside };
}

function tooMany(violations: readonly ErrorDetail[], unlisted: number): AuditError {
  const count = violations.length + unlisted;
  return new AuditError(
    'VALIDATION_FAILED',
    `${count} values break the rules of JSON; over ${violations.length} are too many to judge event by event.`,
    { details: violations },
  );
}
