// Turns the input of a list or a search into a question for the index: the query parsed, times in UTC. Rules that no schema
// can express are checked before, on an input of any shape; the rest expects a valid one.

import {
  type ErrorDetail,
  isDateTime,
  LIMITS,
  type SearchFilters,
  type TimeRange,
} from '@tallystick/contract';
import { EVERYTHING, type Query } from '../query/query.ts';
import { parseQuery } from '../query/query-parser.ts';
import { compareTimes } from '../query/times.ts';
import { ORDER_FIELDS, type OrderStep } from './event-index.ts';
import { utcTimestamp } from './timestamp.ts';

/** The fault of a text that is no query; none if it is one, or no text. A text that is too long is refused for that, unparsed. */
export function queryFaults(text: unknown, field: string): ErrorDetail[] {
  // A character is at most two units.
  if (typeof text !== 'string' || text.length > 2 * LIMITS.queryLengthMax) return [];
  const { fault } = parseQuery(text);
  return fault === undefined ? [] : [{ field, issue: `cannot be read: ${fault.issue}`, value: text }];
}

export function readQuery(text: string | undefined): Query {
  if (text === undefined) return EVERYTHING;
  const { query, fault } = parseQuery(text);
  if (fault !== undefined) throw new Error(`a query came so far that cannot be read: ${fault.issue}`);
  return query;
}

/** The fault of a range that ends before it begins; none if its ends are no times. */
export function timeRangeFaults(from: unknown, to: unknown, field: string): ErrorDetail[] {
  if (!isTime(from) || !isTime(to) || compareTimes(utcTimestamp(from), utcTimestamp(to)) <= 0) return [];
  return [{ field, issue: `must not be after ${to}, the end`, value: from }];
}

function isTime(value: unknown): value is string {
  return typeof value === 'string' && isDateTime(value);
}

/** The range in UTC; nothing where neither end is set. */
export function readTimeRange({ from, to }: TimeRange): Pick<SearchFilters, 'timeRange'> {
  if (from === undefined && to === undefined) return {};
  return {
    timeRange: {
      ...(from === undefined ? {} : { from: utcTimestamp(from) }),
      ...(to === undefined ? {} : { to: utcTimestamp(to) }),
    },
  };
}

/** `timestamp`, `-timestamp` or `timestamp:desc`; the contract's schema lets no other through. */
export function readSort(steps: readonly string[]): OrderStep[] {
  return steps.map((step) => {
    const isDescending = step.startsWith('-') || step.endsWith(':desc');
    const name = step.replace(/^-|:(asc|desc)$/g, '');
    const field = ORDER_FIELDS.find((each) => each === name);
    if (field === undefined) throw new Error(`events have no order by ${name}`);
    return { field, isDescending };
  });
}
