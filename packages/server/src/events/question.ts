// From what a caller asks to a question for the index: the query read, times in UTC, and what this reader may search.

import {
  AuditError,
  CLASSIFICATIONS,
  type ErrorDetail,
  type SearchFilters,
  type TimeRange,
} from '@tallystick/contract';
import type { Caller } from '../access/caller.ts';
import { EVERYTHING, type Query } from '../query/query.ts';
import { parseQuery } from '../query/query-parser.ts';
import { compareTimes } from '../query/times.ts';
import type { OrderField, OrderStep, Sight } from './event-index.ts';
import { viewFor, visibleTo } from './redact.ts';
import { utcTimestamp } from './timestamp.ts';

/** Where a fault stands in what was sent, and how it is told: of a body and of a parameter these differ. */
export interface FaultPlace {
  readonly code: 'VALIDATION_FAILED' | 'INVALID_PARAMETER';
  readonly field: string;
}

export function sightOf({ clearance }: Pick<Caller, 'clearance'>): Sight {
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

/** A query that names kinds asks for them: without it and a filter, events alone are found. */
export function readKinds(query: Query, kinds: SearchFilters['kinds']): Pick<SearchFilters, 'kinds'> {
  if (kinds?.length) return { kinds };
  return namesKind(query) ? { kinds: ['Event', 'Notice'] } : {};
}

function namesKind(query: Query): boolean {
  if (query.kind === 'And' || query.kind === 'Or') return query.of.some(namesKind);
  if (query.kind === 'Not') return namesKind(query.of);
  return query.kind !== 'Text' && query.field.name === 'kind';
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

/** `timestamp`, `-timestamp` or `timestamp:desc`, as the contract's schema has made sure. */
export function readSort(steps: readonly string[]): OrderStep[] {
  return steps.map((step) => {
    const isDescending = step.startsWith('-') || step.endsWith(':desc');
    const field = step.replace(/^-|:(asc|desc)$/g, '') as OrderField;
    return { field, isDescending };
  });
}
