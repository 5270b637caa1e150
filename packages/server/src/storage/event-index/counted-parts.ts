// Which counts a question over a time takes, and of which docs each one is counted. Of the first and the last hour of a
// time, a part may lie outside: there the docs themselves are looked at.

import type { Aggregation, TimeRange } from '@tallystick/contract';
import type { Counted, Span } from './index-columns.ts';
import type { Bounds } from './known.ts';
import { DAY_HOURS, dayOf, HOUR_MS, hourOf, monthBegin, spansBetween, timeSpanOf } from './time-span.ts';

/** What is counted for each of them. */
export const COUNTED_FOR: Readonly<Record<Aggregation, Counted>> = {
  byAction: 'action',
  byActor: 'actor',
  byResource: 'resourceType',
  byActorType: 'actorType',
  byOutcome: 'outcome',
  byClassification: 'all',
  byHour: 'all',
  byDay: 'all',
};

/** Times of one span that follow one another, both ends included. */
export interface Run {
  readonly span: Span;
  readonly first: number;
  last: number;
}

/** Docs whose time is at least the one and below the other. */
export interface TimePart {
  readonly fromMs?: number;
  readonly endMs?: number;
}

export interface CountedParts {
  readonly runs: readonly Run[];
  /** The time of all runs together; undefined where there is none. */
  readonly counted?: TimePart;
  /** Within the time that was asked for. */
  readonly docs: readonly TimePart[];
}

const NOTHING: CountedParts = { runs: [], docs: [] };

/** `bounds` are of all docs; undefined where there is none. */
export function countedParts(
  aggregation: Aggregation,
  timeRange: TimeRange | undefined,
  bounds: Bounds | undefined,
): CountedParts {
  const { from, to } = timeSpanOf(timeRange);
  if (bounds === undefined) return NOTHING;
  const isByTime = aggregation === 'byHour' || aggregation === 'byDay';
  if (from === undefined && to === undefined && !isByTime)
    return { runs: [{ span: 'ever', first: 0, last: 0 }], counted: {}, docs: [] };
  const unit = COUNTED_FOR[aggregation] === 'actor' ? DAY_HOURS : 1;
  const unitOf = (atMs: number) => Math.floor(hourOf(atMs) / unit) * unit;
  const begin =
    from === undefined ? unitOf(bounds.firstMs) : unitOf(Math.max(from.atMs, bounds.firstMs)) + unit;
  const end = to === undefined ? unitOf(bounds.lastMs) + unit : unitOf(Math.min(to.atMs, bounds.lastMs));
  if (begin >= end) return { runs: [], docs: [{}] };
  const docs: TimePart[] = [];
  if (from !== undefined) docs.push({ endMs: begin * HOUR_MS });
  if (to !== undefined) docs.push({ fromMs: end * HOUR_MS });
  const counted = { fromMs: begin * HOUR_MS, endMs: end * HOUR_MS };
  return { runs: runsFor(aggregation, begin, end - 1), counted, docs };
}

/** All hours from one to another, in spans none of which is longer than what is counted by. */
function runsFor(aggregation: Aggregation, first: number, last: number): Run[] {
  if (aggregation === 'byHour') return [{ span: 'hour', first, last }];
  const runs: Run[] = [];
  for (const { span, time } of spansBetween(first, last)) {
    const isMonth = aggregation === 'byDay' && span === 'month';
    const next: Run = isMonth
      ? { span: 'day', first: dayOf(monthBegin(time)), last: dayOf(monthBegin(time + 1)) - 1 }
      : { span, first: time, last: time };
    const before = runs.at(-1);
    if (before?.span === next.span && before.last + 1 === next.first) before.last = next.last;
    else runs.push(next);
  }
  return runs;
}
