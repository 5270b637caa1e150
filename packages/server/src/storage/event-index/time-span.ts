// Times as the index keeps them: moments, the hour, day and month of each, the span that is asked for, and the whole months,
// days and hours that it is made of. Events of the first and the last hour may lie outside of a span; the caller compares
// them with the span itself.

import type { TimeRange } from '@tallystick/contract';
import type { Span } from './index-columns.ts';
import type { Operator } from '../../query/query.ts';

export const HOUR_MS = 3_600_000;
export const DAY_HOURS = 24;

/** A moment as it is kept: milliseconds since 1970, and the nanoseconds beyond. */
export interface Moment {
  readonly atMs: number;
  readonly atNs: number;
}

const SECONDS_END = '2026-01-02T03:04:05'.length;

/** Of an instant in UTC. */
export function momentOf(timestamp: string): Moment {
  const nanoseconds = Math.round(Number(`0${timestamp.slice(SECONDS_END, -1)}`) * 1e9);
  const ms = Math.floor(nanoseconds / 1e6);
  return { atMs: Date.parse(`${timestamp.slice(0, SECONDS_END)}Z`) + ms, atNs: nanoseconds - ms * 1e6 };
}

export function hourOf(atMs: number): number {
  return Math.floor(atMs / HOUR_MS);
}

export function dayOf(hour: number): number {
  return Math.floor(hour / DAY_HOURS);
}

/** From the year 0 on. */
export function monthOf(hour: number): number {
  const date = new Date(hour * HOUR_MS);
  return date.getUTCFullYear() * 12 + date.getUTCMonth();
}

/** The first hour of a month. */
export function monthBegin(month: number): number {
  const date = new Date(0);
  date.setUTCFullYear(Math.floor(month / 12), month % 12, 1);
  return hourOf(date.getTime());
}

/** Both ends are included. */
export interface TimeSpan {
  readonly from: Moment | undefined;
  readonly to: Moment | undefined;
}

/** Of a range whose ends are in UTC. */
export function timeSpanOf({ from, to }: TimeRange = {}): TimeSpan {
  return {
    from: from === undefined ? undefined : momentOf(from),
    to: to === undefined ? undefined : momentOf(to),
  };
}

/** A whole month, day or hour. */
export interface WholeSpan {
  readonly span: Exclude<Span, 'ever'>;
  /** As `counts.time` has it. */
  readonly time: number;
}

/** All hours from one to another, which are both included, in the longest spans that they are made of. */
export function* spansBetween(firstHour: number, lastHour: number): Generator<WholeSpan> {
  for (let hour = firstHour; hour <= lastHour; ) {
    const month = monthOf(hour);
    const nextMonth = monthBegin(month + 1);
    if (hour === monthBegin(month) && nextMonth - 1 <= lastHour) {
      yield { span: 'month', time: month };
      hour = nextMonth;
    } else if (hour % DAY_HOURS === 0 && hour + DAY_HOURS - 1 <= lastHour) {
      yield { span: 'day', time: dayOf(hour) };
      hour += DAY_HOURS;
    } else {
      yield { span: 'hour', time: hour };
      hour += 1;
    }
  }
}

/** The hours of times that stand in this order to those from `first` to `last`; undefined: without an end. */
export function hoursFor(
  operator: Operator,
  first: number,
  last: number,
  isDay: boolean,
): readonly [number | undefined, number | undefined] {
  switch (operator) {
    case '=':
      return [first, last];
    case '>':
      return [isDay ? last + 1 : first, undefined];
    case '>=':
      return [first, undefined];
    case '<':
      return [undefined, isDay ? first - 1 : last];
    case '<=':
      return [undefined, last];
  }
}
