// The history of a delivery: the progress of its job.

import type { DeliveryAttempt } from '@tallystick/contract';
import { parseJson } from '@tallystick/evidence';

/** Attempts of a delivery that was sent again and again: the oldest go first. */
const KEPT_MAX = 30;

export function attemptsIn(progress: string | undefined): readonly DeliveryAttempt[] {
  return progress === undefined ? [] : (parseJson(progress) as { attempts: DeliveryAttempt[] }).attempts;
}

export function withAttempt(progress: string | undefined, attempt: DeliveryAttempt): string {
  return JSON.stringify({ attempts: [...attemptsIn(progress), attempt].slice(-KEPT_MAX) });
}
