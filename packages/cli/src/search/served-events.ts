// A tenant's events as a service answers them: found by a query, page by page, or read in the order of the log, stream by
// stream. What is answered in another shape than it must have is an EvidenceError; what cannot be had is NoAnswer.

import {
  type AuditEvent,
  LIMITS,
  type SearchFilters,
  type SearchRequest,
  type StreamEvent,
} from '@tallystick/contract';
import {
  type Answered,
  type AskedService,
  askerOf,
  misshapen,
  nextIn,
  parameters,
  rowsOf,
} from '../ask-json.ts';
import { isCount, membersOf } from '../members.ts';
import { isEvent, isStreamEvent } from './event-guard.ts';

/** What is looked for. */
export interface Wish {
  readonly query: string;
  readonly filters: Pick<SearchFilters, 'kinds' | 'timeRange'>;
  /** As the list takes them: `-timestamp`. */
  readonly sort: readonly string[];
}

export interface FoundPage {
  readonly events: readonly AuditEvent[];
  /** Of all pages together. */
  readonly total: number;
  readonly isExact: boolean;
  readonly lagMs: number;
  /** Undefined: this page is the last. */
  readonly cursor: string | undefined;
}

export interface ServedStream {
  readonly streamId: string;
  /** Undefined while it is open. */
  readonly sealedAt: string | undefined;
  /** Undefined while it is empty. */
  readonly lastSequence: number | undefined;
}

export interface ServedEvents {
  list(wish: Wish, limit: number, cursor: string | undefined): Promise<FoundPage>;
  /** The most relevant: one page, and no more. */
  best(wish: Wish, limit: number): Promise<FoundPage>;
  /** Newest first. */
  streams(cursor?: string): Promise<{ streams: readonly ServedStream[]; cursor: string | undefined }>;
  stream(streamId: string): Promise<ServedStream>;
  /** From that sequence on, as many as go into a page; from its first one, if no sequence is given. */
  streamEvents(streamId: string, fromSequence: number | undefined): Promise<readonly StreamEvent[]>;
}

export const PAGE_MAX = LIMITS.pageSizeMax;
const ADVICE = {
  401: 'give an API key that may read (audit:read) by TALLYSTICK_API_KEY or --api-key',
  403: 'the API key may not read here: it needs audit:read, and the tenant',
  404: 'is this the address of a service?',
} as const;
const STREAM_ADVICE = {
  ...ADVICE,
  404: 'the log is not the one that was followed; was it restored?',
} as const;

export function servedEvents(service: AskedService): ServedEvents {
  const ask = askerOf(service, ADVICE);
  return {
    list: async (wish, limit, cursor) => foundIn(await ask(`audit-events?${listQuery(wish, limit, cursor)}`)),
    async best({ query, filters }, limit) {
      const body: SearchRequest = {
        query,
        filters,
        sort: [{ field: 'relevance' }],
        pagination: { limit },
      };
      return bestIn(await ask('audit-events/search', { body }));
    },
    async streams(cursor) {
      const { answer, path } = await ask(`event-streams?${parameters({ limit: '100', cursor })}`);
      return { streams: rowsOf(answer['data'], path).map((row) => streamIn(row, path)), ...nextIn(answer) };
    },
    async stream(streamId) {
      const { answer, path } = await ask(streamPath(streamId), { advice: STREAM_ADVICE });
      return streamIn(answer, path);
    },
    async streamEvents(streamId, fromSequence) {
      const asked = parameters({ limit: String(PAGE_MAX), fromSequence: fromSequence?.toString() });
      const { answer, path } = await ask(`${streamPath(streamId)}/events?${asked}`, {
        advice: STREAM_ADVICE,
      });
      const rows = rowsOf(answer['data'], path);
      if (!rows.every(isStreamEvent)) throw misshapen(path);
      return rows;
    },
  };
}

/** Walks the pages up to a limit; each is handed out before the next one is asked for. */
export async function* findEvents(
  events: ServedEvents,
  wish: Wish,
  /** Undefined: all. */
  limit: number | undefined,
): AsyncGenerator<FoundPage> {
  let left = limit ?? Number.POSITIVE_INFINITY;
  let cursor: string | undefined;
  do {
    const page = await events.list(wish, Math.min(left, PAGE_MAX), cursor);
    yield page;
    left -= page.events.length;
    ({ cursor } = page);
  } while (left > 0 && cursor !== undefined);
}

function listQuery({ query, filters, sort }: Wish, limit: number, cursor: string | undefined): string {
  return parameters({
    q: query === '' ? undefined : query,
    startTime: filters.timeRange?.from,
    endTime: filters.timeRange?.to,
    kind: filters.kinds?.join(','),
    sort: sort.length === 0 ? undefined : sort.join(','),
    limit: String(limit),
    cursor,
  });
}

function streamPath(streamId: string): string {
  return `event-streams/${encodeURIComponent(streamId)}`;
}

function foundIn({ answer, headers, path }: Answered): FoundPage {
  const { total, totalRelation } = membersOf(answer['pagination']);
  if (!isCount(total)) throw misshapen(path);
  return {
    events: eventsOf(answer['data'], path),
    total,
    isExact: totalRelation === 'Exact',
    lagMs: Number(headers.get('x-projection-lag-ms') ?? 0) || 0,
    ...nextIn(answer),
  };
}

function bestIn({ answer, path }: Answered): FoundPage {
  const { results, totalCount, totalCountRelation, metadata } = answer;
  const lagMs = membersOf(metadata)['projectionLagMs'];
  if (!isCount(totalCount)) throw misshapen(path);
  return {
    events: eventsOf(results, path),
    total: totalCount,
    isExact: totalCountRelation === 'Exact',
    lagMs: isCount(lagMs) ? lagMs : 0,
    cursor: undefined,
  };
}

function streamIn(value: unknown, path: string): ServedStream {
  const { streamId, status, sealedAt, lastSequence } = membersOf(value);
  const isOpen = status === 'Open';
  if (typeof streamId !== 'string' || (!isOpen && typeof sealedAt !== 'string')) throw misshapen(path);
  return {
    streamId,
    sealedAt: isOpen ? undefined : String(sealedAt),
    lastSequence: isCount(lastSequence) ? lastSequence : undefined,
  };
}

function eventsOf(value: unknown, path: string): AuditEvent[] {
  const rows = rowsOf(value, path);
  if (!rows.every(isEvent)) throw misshapen(path);
  return rows;
}
