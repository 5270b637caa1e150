// When a failed attempt is repeated.

import { LIMITS, RETRY_DELAYS_MS, type RetryRule } from '@tallystick/contract';
import { longestMs } from '../runtime/expiry.ts';

const INITIAL_DELAY = 'PT30S';
const MAX_DELAY = 'PT1H';

export interface RetryParts {
  readonly retry: RetryRule;
  /** Multiplies all delays, for tests. */
  readonly timeScale: number;
  /** From 0 up to, but not including, 1. */
  readonly chance: number;
}

/** The delay before attempt `next`, 2 or higher; `retryAfterMs`: what the consumer asks for. */
export function retryDelayMs(
  next: number,
  retryAfterMs: number | undefined,
  { retry, timeScale, chance }: RetryParts,
): number {
  const jitter = 1 + ((2 * chance - 1) * LIMITS.retryJitterPercent) / 100;
  const delayMs = plannedMs(next, retry) * jitter * timeScale;
  const asked = Math.min(retryAfterMs ?? 0, LIMITS.retryAfterMsMax * timeScale);
  return Math.round(Math.max(delayMs, asked));
}

function plannedMs(
  next: number,
  { strategy, initialDelay = INITIAL_DELAY, maxDelay = MAX_DELAY }: RetryRule,
): number {
  if (strategy === 'Schedule') return RETRY_DELAYS_MS[Math.min(next, RETRY_DELAYS_MS.length) - 1]!;
  const delayMs = Math.min(longestMs(initialDelay) * 2 ** (next - 2), longestMs(maxDelay));
  // Older subscriptions may ask for anything.
  return Math.min(Math.max(delayMs, LIMITS.retryDelayMsMin), LIMITS.retryDelayMsMax);
}

/** In milliseconds from now; undefined if the text is neither seconds nor a date. */
export function parseRetryAfter(text: string | undefined, nowMs: number): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  const atMs = Date.parse(text);
  return Number.isNaN(atMs) || !/\bGMT$/.test(text) ? undefined : Math.max(0, atMs - nowMs);
}
