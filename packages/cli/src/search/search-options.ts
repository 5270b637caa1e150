// What is looked for, where, and how it is shown: the options of `tallystick search`, checked before anything is asked.
// Throws CannotRun.

import { LIMITS } from '@tallystick/contract';
import { CannotRun } from '../cannot-run.ts';
import { widthOf } from '../output/fit-text.ts';
import { givenOption } from '../given-option.ts';
import { printable } from '../output/printable.ts';
import type { Server } from '../data-command.ts';
import type { ServiceOptions } from '../address-options.ts';
import { timeRangeIn, type TimeRangeOptions } from '../time-range-options.ts';
import { PAGE_MAX, type Wish } from './served-events.ts';

export interface SearchOptions extends ServiceOptions, TimeRangeOptions {
  readonly limit?: string;
  readonly all?: true;
  readonly sort?: string;
  readonly json?: true;
  readonly follow?: true;
}

type Query = NonNullable<ReturnType<Server['parseQuery']>['query']>;

export interface AskedSearch extends Wish {
  /** What the text of the query says. */
  readonly read: Query;
  readonly byRelevance: boolean;
  /** Undefined: all. */
  readonly limit: number | undefined;
}

const LIMIT_DEFAULT = 50;
const SORT_STEP = /^(-?(timestamp|eventId|action)|(timestamp|eventId|action):(asc|desc))$/;

export function searchIn(
  text: string,
  options: SearchOptions,
  { parseQuery, readKinds }: Server,
): AskedSearch {
  refuseContradictions(options);
  const read = queryIn(text, parseQuery);
  const limit = limitIn(options);
  const timeRange = timeRangeIn(options);
  const byRelevance = options.sort === 'relevance';
  if (byRelevance && (limit === undefined || limit > PAGE_MAX)) {
    throw new CannotRun(`--sort relevance gives one page: --limit is 1 to ${PAGE_MAX} with it`);
  }
  return {
    query: text,
    read,
    // The service reads kinds from the query, too; with --follow it is not asked.
    filters: { ...(timeRange && { timeRange }), ...readKinds(read, undefined) },
    sort: byRelevance || options.sort === undefined ? [] : sortIn(options.sort),
    byRelevance,
    limit,
  };
}

function refuseContradictions({ follow, all, limit, sort }: SearchOptions): void {
  const given = follow ? givenOption({ all, limit, sort }, ['all', 'limit', 'sort']) : undefined;
  if (given !== undefined)
    throw new CannotRun(
      `${given} is not for --follow, which shows all that is there, in the order of the log`,
    );
  if (all && limit !== undefined) throw new CannotRun('--all and --limit are both given');
}

/** The fault under the text, at its column. */
function queryIn(text: string, parseQuery: Server['parseQuery']): Query {
  if ([...text].length > LIMITS.queryLengthMax) {
    throw new CannotRun(`the query is ${[...text].length} characters; limit ${LIMITS.queryLengthMax}`);
  }
  const { query, fault } = parseQuery(text);
  if (fault === undefined) return query;
  const before = widthOf(printable(text.slice(0, fault.position)));
  throw new QueryRefused(`the query cannot be read: ${printable(fault.issue)}`, [
    `  ${printable(text)}`,
    `  ${' '.repeat(before)}^`,
  ]);
}

/** A query with a fault: the message is one line, and the place is shown below it. */
export class QueryRefused extends CannotRun {
  readonly place: readonly string[];

  constructor(message: string, place: readonly string[]) {
    super(message);
    this.place = place;
  }
}

function limitIn({ limit, all }: SearchOptions): number | undefined {
  if (all) return undefined;
  if (limit === undefined) return LIMIT_DEFAULT;
  if (/^\d{1,9}$/.test(limit)) return Number(limit) === 0 ? undefined : Number(limit);
  throw new CannotRun(`--limit is ${JSON.stringify(limit.slice(0, 80))}; it is a whole number, and 0 is all`);
}

function sortIn(text: string): string[] {
  const steps = text.split(',');
  const wrong = steps.find((step) => !SORT_STEP.test(step));
  if (wrong === undefined && steps.length <= LIMITS.sortFieldsMax) return steps;
  throw new CannotRun(
    `--sort is ${JSON.stringify(text.slice(0, 80))}; it is timestamp, eventId or action, descending with a - before it, at most ${LIMITS.sortFieldsMax} with commas between them; or relevance`,
  );
}
