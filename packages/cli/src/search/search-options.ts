// What is looked for, where, and how it is shown: the options of `tallystick search`, checked before anything is asked.
// Throws CannotRun.

import { isDateTime, LIMITS, type TimeRange, type Version } from '@tallystick/contract';
import { tenantIn } from '../access-options.ts';
import { CannotRun } from '../cannot-run.ts';
import { apiKeyIn, plainAddress } from '../fetch-bytes.ts';
import { widthOf } from '../output/fit-text.ts';
import { givenOption } from '../given-option.ts';
import { printable } from '../output/printable.ts';
import type { Server } from '../data-command.ts';
import { PAGE_MAX, type Wish } from './served-events.ts';
import { splitVersion } from '../served-version.ts';

export interface SearchOptions {
  readonly tenant: string;
  readonly url?: string;
  readonly apiKey?: string;
  readonly from?: string;
  readonly to?: string;
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
const URL_DEFAULT = 'http://127.0.0.1:8080';
const SORT_STEP = /^(-?(timestamp|eventId|action)|(timestamp|eventId|action):(asc|desc))$/;
const DAY = /^\d{4}-\d\d-\d\d$/;

export function searchIn(
  text: string,
  options: SearchOptions,
  { parseQuery, readKinds }: Server,
): AskedSearch {
  refuseContradictions(options);
  const read = queryIn(text, parseQuery);
  const limit = limitIn(options);
  const byRelevance = options.sort === 'relevance';
  if (byRelevance && (limit === undefined || limit > PAGE_MAX)) {
    throw new CannotRun(`--sort relevance gives one page: --limit is 1 to ${PAGE_MAX} with it`);
  }
  return {
    query: text,
    read,
    // The service reads kinds from the query, too; with --follow it is not asked.
    filters: { ...timesIn(options), ...readKinds(read, undefined) },
    sort: byRelevance || options.sort === undefined ? [] : sortIn(options.sort),
    byRelevance,
    limit,
  };
}

/** Whose events, of which service. An empty variable is what is left of one that was never set. */
export function serviceIn({ url, tenant, apiKey }: SearchOptions): {
  readonly address: string;
  readonly version: Version;
  readonly tenant: string;
  readonly apiKey: string | undefined;
} {
  const text = url || process.env['TALLYSTICK_URL'] || URL_DEFAULT;
  if (!/^https?:\/\//i.test(text)) {
    throw new CannotRun(
      `${JSON.stringify(text.slice(0, 200))} is no address of a service: it begins with https:// or http://`,
    );
  }
  const { base, version } = splitVersion(plainAddress(text, 'a service'));
  return {
    address: base,
    version,
    tenant: tenantIn(tenant),
    apiKey: apiKeyIn(apiKey),
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

function timesIn({ from, to }: SearchOptions): { readonly timeRange?: TimeRange } {
  if (from === undefined && to === undefined) return {};
  const timeRange = {
    ...(from === undefined ? {} : { from: timeIn(from, '--from', 'T00:00:00Z') }),
    ...(to === undefined ? {} : { to: timeIn(to, '--to', 'T23:59:59.999999999Z') }),
  };
  if (Date.parse(timeRange.from ?? '') > Date.parse(timeRange.to ?? '')) {
    throw new CannotRun(`--from ${from} is after --to ${to}`);
  }
  return { timeRange };
}

/** A day is all of it. */
function timeIn(text: string, option: string, ofDay: string): string {
  const time = DAY.test(text) ? `${text}${ofDay}` : text;
  if (isDateTime(time)) return time;
  throw new CannotRun(
    `${option} is ${JSON.stringify(text.slice(0, 80))}; it is a day or an instant with its zone, like 2026-01-02 or 2026-01-02T03:04:05Z`,
  );
}
