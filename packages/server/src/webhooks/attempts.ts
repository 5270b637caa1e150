// The history of a delivery: the progress of its job. Nothing in it tells what was sent, so nobody who reads it has to be cleared for that,
// and it holds nothing that an erasure would have to find. What the consumer answers may repeat what it was sent; and who knows the
// secret could try by a signature whether they have guessed the body.

import type { DeliveryAttempt } from '@tallystick/contract';
import { parseJson } from '@tallystick/evidence';
import { REDACTED } from '../policies/sight.ts';

/** Attempts of a delivery that was sent again and again: the oldest go first. */
const KEPT_MAX = 30;
const SIGNATURE = /signature/i;

export function attemptsIn(progress: string | undefined): readonly DeliveryAttempt[] {
  return progress === undefined ? [] : (parseJson(progress) as { attempts: DeliveryAttempt[] }).attempts;
}

export function withAttempt(progress: string | undefined, attempt: DeliveryAttempt): string {
  const before = attemptsIn(progress).map(withoutHeaders);
  return JSON.stringify({ attempts: [...before, keptAttempt(attempt)].slice(-KEPT_MAX) });
}

/** They may have 8 KB, and are the same each time but for what the attempt itself tells. */
function withoutHeaders(attempt: DeliveryAttempt): DeliveryAttempt {
  const { requestHeaders: _, ...others } = attempt;
  return others;
}

/** As much of it as is stored. */
export function keptAttempt(attempt: DeliveryAttempt): DeliveryAttempt {
  const { responseBody: _, requestHeaders = {}, ...others } = attempt;
  const headers = Object.entries(requestHeaders).map(([name, value]) => [
    name,
    SIGNATURE.test(name) ? REDACTED : value,
  ]);
  return { ...others, requestHeaders: Object.fromEntries(headers) as Record<string, string> };
}
