// Lists and searches over real HTTP, for tests; and the wait until the index has come after the log.

import {
  Aggregation,
  asJson,
  type AuditEvent,
  type Classification,
  type ErrorBody,
  type List,
  type SearchAnswer,
  type SearchRequest,
} from '@tallystick/contract';
import { ask as askOf, type Told } from './ask.ts';
import type { TestApp } from './test-app.ts';

export interface Finder {
  /** `query` is what stands behind the question mark. */
  list(query?: string): Promise<Told<List<AuditEvent>>>;
  search(request?: SearchRequest | string): Promise<Told<SearchAnswer>>;
  /** Until nothing waits to be indexed. */
  caughtUp(): Promise<void>;
}

/** The fields that an error names, in order. */
export function fieldsAtFault(body: unknown): string[] {
  return (body as ErrorBody).error.details.map(({ field }) => field).toSorted();
}

/** All that can be counted. */
export const AGGREGATIONS = asJson(Aggregation).enum as Aggregation[];

/** However slow the machine is. */
const PATIENCE_MS = 120_000;
const PAUSE_MS = 20;
// To see a Secret event leaves a notice: a wait that showed events would write what it waits for.
const SHOWS_NOTHING = 'limit=1&actorId=nobody-at-all';

export function finderOf(app: TestApp, tenant = 'acme', clearance: Classification = 'Secret'): Finder {
  const ask = <T>(path: string, body?: unknown): Promise<Told<T>> =>
    askOf(app, body === undefined ? 'GET' : 'POST', `/api/v1/audit-events${path}`, {
      key: clearance,
      tenant,
      body,
    });
  const finder: Finder = {
    list: (query = '') => ask(query === '' ? '' : `?${query}`),
    search: (request = {}) => ask('/search', request),
    async caughtUp() {
      const deadline = Date.now() + PATIENCE_MS;
      for (;;) {
        const { headers: seen } = await finder.list(SHOWS_NOTHING);
        if (seen.get('x-projection-lag-ms') === '0') return;
        if (Date.now() > deadline) throw new Error('the index does not come after the log');
        await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      }
    },
  };
  return finder;
}
