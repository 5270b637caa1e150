// The order of times: of an event's, which are instants in UTC with up to nine digits of fraction, and of what a query
// or a filter names, which is such an instant or a day.

import { isAfter } from '../events/timestamp.ts';

const DAY_LENGTH = '2026-01-02'.length;

/** Below zero: before it; above: after it; zero: the same instant, or on that day. */
export function compareTimes(time: string, other: string): number {
  const isDay = other.length === DAY_LENGTH;
  const day = time.slice(0, DAY_LENGTH);
  if (isDay) return day === other ? 0 : day < other ? -1 : 1;
  if (isAfter(time, other)) return 1;
  return isAfter(other, time) ? -1 : 0;
}
