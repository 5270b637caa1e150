// The span of time that is asked for, as the index keeps times, and the whole months, days and hours that it is made of. Events of the first and the last hour may lie outside; whoever asks compares them with the span itself.

import type { TimeRange } from '@tallystick/contract';
import { timeOf } from './document.ts';
import type { TimeName } from '../../../query/fields.ts';
import type { Span } from './schema.ts';
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

const TERMS = { month: monthTerm, day: dayTerm, hour: hourTerm } as const;

export function spanTerm(name: TimeName, { span, time }: WholeSpan): string {
  return TERMS[span](name, time);
}
