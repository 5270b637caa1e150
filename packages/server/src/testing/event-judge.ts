// A judge of events with the contract's own rules, for tests of what comes after or before it.

import { asJson, EventDraft, LIMITS } from '@tallystick/contract';
import {
  createJudge,
  type EventPlace,
  isRefusal,
  type Judge,
  type EventRefusal,
  type SoundEvent,
} from '../events/judge.ts';
import { isPlain } from '../events/plain-event.ts';
import { createRules } from '../gateway/validate.ts';
import { messageFor } from '../gateway/violations.ts';

export function createTestJudge(requireActorIdentity = false): Judge {
  const fields = { violations: createRules(asJson(EventDraft)), message: messageFor };
  return createJudge({ fields, requireActorIdentity });
}

/** The latest timestamp that tests accept, unless they say otherwise. */
export const LATEST = '2026-06-01T00:00:00.000Z';

export function eventPlace(path = '', broken: EventRefusal['details'] = []): EventPlace {
  return { path, broken, unlisted: 0, detailsMax: LIMITS.errorDetailsMax };
}

export function soundEvent(judge: Judge, value: unknown): SoundEvent {
  const judged = judge(value, eventPlace(), LATEST);
  if (isRefusal(judged)) throw new Error(`refused: ${judged.message}`);
  if (isPlain(judged)) throw new Error('not read');
  return judged;
}

export function refusalOf(
  judge: Judge,
  value: unknown,
  broken: EventRefusal['details'] = [],
  at = '',
): EventRefusal {
  const judged = judge(value, eventPlace(at, broken), LATEST);
  if (!isRefusal(judged)) throw new Error('accepted');
  return judged;
}
