// The history of a delivery: the progress of its job. Nothing in it says what was sent, so readers need no clearance for that, and an
// erasure has nothing to find in it. That is why answers are kept apart (answers.ts), and signatures not at all: with the secret, one
// could use a signature to check a guess of the body.

import type { DeliveryAttempt } from '@tallystick/contract';
import { parseJson } from '@tallystick/evidence';
import { REDACTED } from '../policies/sight.ts';
import { SIGNATURE } from './signature.ts';

/** A delivery may be sent again any number of times; its oldest attempts are dropped. */
const KEPT_MAX = 30;

export function attemptsIn(progress: string | undefined): readonly DeliveryAttempt[] {
  return progress === undefined ? [] : (parseJson(progress) as { attempts: DeliveryAttempt[] }).attempts;
}

export function withAttempt(progress: string | undefined, attempt: DeliveryAttempt): string {
  const before = attemptsIn(progress).map(withoutHeaders);
  return JSON.stringify({ attempts: [...before, keptAttempt(attempt)].slice(-KEPT_MAX) });
}

/** They may take 8 KB, and differ between attempts only in what the attempt itself says. */
function withoutHeaders(attempt: DeliveryAttempt): DeliveryAttempt {
  const { requestHeaders: _, ...others } = attempt;
  return others;
}

/** What is stored of it. */
export function keptAttempt(attempt: DeliveryAttempt): DeliveryAttempt {
  const { responseBody: _, requestHeaders = {}, ...others } = attempt;
  const headers = Object.entries(requestHeaders).map(([name, value]) => [
    name,
    SIGNATURE.test(name) ? REDACTED : value,
  ]);
  return { ...others, requestHeaders: Object.fromEntries(headers) as Record<string, string> };
}
