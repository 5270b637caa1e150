// From what a caller asks to a question for the index: the query read, times in UTC, and what this reader may search.

import {
  AuditError,
  CLASSIFICATIONS,
  type ErrorDetail,
  type SearchFilters,
  type TimeRange,
} from '@tallystick/contract';
import type { Call } from '../call.ts';
import { EVERYTHING, type Query } from '../query/query.ts';
import { parseQuery } from '../query/query-parser.ts';
import { compareTimes } from '../query/times.ts';
import { ORDER_FIELDS, type OrderStep, type Sight } from './event-index.ts';
import { viewFor, visibleTo } from './redact.ts';
import { utcTimestamp } from './timestamp.ts';

/** Where a fault stands in what was sent, and how it is told: of a body and of a parameter these differ. */
export interface FaultPlace {
  readonly code: 'VALIDATION_FAILED' | 'INVALID_PARAMETER';
  readonly field: string;
}

/** Of a tenant that was not known when the call came nothing is seen, though it may have events by now. */
export function sightOf({ caller, tenantRecord }: Call): Sight {
  if (caller === undefined || tenantRecord === undefined) return { visible: [], whole: [] };
  const { clearance } = caller;
  return {
    visible: visibleTo(clearance),
    whole: CLASSIFICATIONS.filter((each) => viewFor(clearance, each) === 'Whole'),
  };
}

export function readQuery(text: string | undefined, place: FaultPlace): Query {
  if (text === undefined) return EVERYTHING;
  const { query, fault } = parseQuery(text);
  if (fault === undefined) return query;
  const { issue } = fault;
  throw refused(place, `The query cannot be read: ${issue}.`, { field: place.field, issue, value: text });
}

/** The range in UTC; nothing where neither end is set. */
export function readTimeRange({ from, to }: TimeRange, place: FaultPlace): Pick<SearchFilters, 'timeRange'> {
  if (from === undefined && to === undefined) return {};
  const range = {
    ...(from === undefined ? {} : { from: utcTimestamp(from) }),
    ...(to === undefined ? {} : { to: utcTimestamp(to) }),
  };
  if (range.from !== undefined && range.to !== undefined && compareTimes(range.from, range.to) > 0) {
    const issue = `must not be after ${to}, the end`;
    throw refused(place, `${place.field} ${from} is after the end, ${to}.`, {
      field: place.field,
      issue,
      value: from!,
    });
  }
  return { timeRange: range };
}

function refused({ code }: FaultPlace, message: string, detail: ErrorDetail): AuditError {
  return new AuditError(code, message, { details: [detail] });
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
