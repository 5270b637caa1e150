// Validates events by the contract's own rules, for tests of what comes after or before it.

import { asJson, EventDraft, LIMITS } from '@tallystick/contract';
import {
  createValidateEvent,
  type EventPlace,
  type EventRefusal,
  isRefusal,
  type ParsedEvent,
  type ValidateEvent,
} from '../events/validate-event.ts';
import { isPlain } from '../events/plain-event.ts';
import { createRules } from '../gateway/validate.ts';
import { messageFor } from '../gateway/violations.ts';

export function createTestValidateEvent(requireActorIdentity = false): ValidateEvent {
  const fields = { violations: createRules(asJson(EventDraft)), message: messageFor };
  return createValidateEvent({ fields, requireActorIdentity });
}

/** The latest timestamp that tests accept, unless they say otherwise. */
export const LATEST = '2026-06-01T00:00:00.000Z';

export function eventPlace(path = '', broken: EventRefusal['details'] = []): EventPlace {
  return { path, broken, unlisted: 0, detailsMax: LIMITS.errorDetailsMax };
}

export function parsedEvent(validateEvent: ValidateEvent, value: unknown): ParsedEvent {
  const validated = validateEvent(value, eventPlace(), LATEST);
  if (isRefusal(validated)) throw new Error(`refused: ${validated.message}`);
  if (isPlain(validated)) throw new Error('not read');
  return validated;
}

export function refusalOf(
  validateEvent: ValidateEvent,
  value: unknown,
  broken: EventRefusal['details'] = [],
  at = '',
): EventRefusal {
  const validated = validateEvent(value, eventPlace(at, broken), LATEST);
  if (!isRefusal(validated)) throw new Error('accepted');
  return validated;
}
