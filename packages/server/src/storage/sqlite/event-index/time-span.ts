// The span of time that is asked for, as the index keeps times, and the terms that cover it: whole months, then days, then
// hours. Events of the first and the last hour may lie outside; whoever asks compares them with the span itself.

import type { TimeRange } from '@tallystick/contract';
import { timeOf } from './document.ts';
import { dayOf, dayTerm, hourTerm, monthBegin, monthOf, monthTerm } from './terms.ts';

/** A moment as it is kept. */
export interface Moment {
  readonly atMs: number;
  readonly atNs: number;
}

/** Both ends are included. */
export interface TimeSpan {
  readonly from: Moment | undefined;
  readonly to: Moment | undefined;
}

/** Of a range whose ends are in UTC. */
export function timeSpanOf({ from, to }: TimeRange = {}): TimeSpan {
  return {
    from: from === undefined ? undefined : timeOf(from),
    to: to === undefined ? undefined : timeOf(to),
  };
}

const DAY_HOURS = 24;

/** The terms of all hours from one to another, which are both included. */
export function coverOf(firstHour: number, lastHour: number): string[] {
  const terms: string[] = [];
  for (let hour = firstHour; hour <= lastHour; ) {
    const month = monthOf(hour);
    const nextMonth = monthBegin(month + 1);
    if (hour === monthBegin(month) && nextMonth - 1 <= lastHour) {
      terms.push(monthTerm(month));
      hour = nextMonth;
    } else if (hour % DAY_HOURS === 0 && hour + DAY_HOURS - 1 <= lastHour) {
      terms.push(dayTerm(dayOf(hour)));
      hour += DAY_HOURS;
    } else {
      terms.push(hourTerm(hour));
      hour += 1;
    }
  }
  return terms;
}
