// The options --from and --to: days, or instants with their zone, both included. Throws CannotRun.

import { isDateTime, type TimeRange } from '@tallystick/contract';
import { CannotRun } from './cannot-run.ts';

export interface TimeRangeOptions {
  readonly from?: string;
  readonly to?: string;
}

const DAY = /^\d{4}-\d\d-\d\d$/;

/** Undefined: neither is given. */
export function timeRangeIn({ from, to }: TimeRangeOptions): TimeRange | undefined {
  if (from === undefined && to === undefined) return undefined;
  const timeRange = {
    ...(from === undefined ? {} : { from: timeIn(from, '--from', 'T00:00:00Z') }),
    ...(to === undefined ? {} : { to: timeIn(to, '--to', 'T23:59:59.999999999Z') }),
  };
  if (Date.parse(timeRange.from ?? '') > Date.parse(timeRange.to ?? '')) {
    throw new CannotRun(`--from ${from} is after --to ${to}`);
  }
  return timeRange;
}

/** An instant, or a day with its time `ofDay`. */
export function timeIn(text: string, option: string, ofDay: string): string {
  const time = DAY.test(text) ? `${text}${ofDay}` : text;
  if (isDateTime(time)) return time;
  throw new CannotRun(
    `${option} is ${JSON.stringify(text.slice(0, 80))}; it is a day or an instant with its zone, like 2026-01-02 or 2026-01-02T03:04:05Z`,
  );
}
