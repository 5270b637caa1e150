// The end of a calendar duration: the retention of content, the grace period of a key. Years
// and months are counted as dates are, in UTC: `P1M` after 31 January is the last day of February.

import { ok as assert } from 'node:assert/strict';
import type { Duration } from '@tallystick/contract';
import { LATEST_MS } from './clock.ts';

const DURATION =
  /^P(?:(\d+)Y)?(?:(\d+)M)?(?:([\d.,]+)W)?(?:([\d.,]+)D)?(?:T(?:([\d.,]+)H)?(?:([\d.,]+)M)?(?:([\d.,]+)S)?)?$/;
const DAY_MS = 86_400_000;
const LONGEST_MONTH_MS = 31 * DAY_MS;

/** Caches the results for the last start time: the events of one commit share it and a few durations. */
export function createExpiries(): (fromMs: number, duration: Duration) => number {
  const known = new Map<Duration, number>();
  let lastMs: number | undefined;
  return (fromMs, duration) => {
    if (fromMs !== lastMs) known.clear();
    lastMs = fromMs;
    let atMs = known.get(duration);
    if (atMs === undefined) known.set(duration, (atMs = expiryAfter(fromMs, duration)));
    return atMs;
  };
}

export function expiryAfter(fromMs: number, duration: Duration): number {
  const { months, ms } = partsOf(duration);
  const atMs = addMonths(new Date(fromMs), months).getTime() + ms;
  return atMs <= LATEST_MS ? atMs : LATEST_MS;
}

/** No less than the duration takes, from whenever it is counted. */
export function longestMs(duration: Duration): number {
  const { months, ms } = partsOf(duration);
  return months * LONGEST_MONTH_MS + ms;
}

function partsOf(duration: Duration): { readonly months: number; readonly ms: number } {
  const match = DURATION.exec(duration);
  assert(match !== null, `${duration} is no duration`);
  const [years, months, weeks, days, hours, minutes, seconds] = match
    .slice(1)
    .map((part?: string) => Number(part?.replace(',', '.') ?? 0));
  const timeMs = Math.round(hours! * 3_600_000) + Math.round(minutes! * 60_000) + Math.round(seconds! * 1000);
  return { months: years! * 12 + months!, ms: Math.round((weeks! * 7 + days!) * DAY_MS) + timeMs };
}

function addMonths(date: Date, months: number): Date {
  const day = date.getUTCDate();
  date.setUTCDate(1);
  date.setUTCMonth(date.getUTCMonth() + months);
  const lastDay = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate();
  date.setUTCDate(Math.min(day, lastDay));
  return date;
}
