// Walks the pages of what a query finds, one at a time, up to a limit.

import { type FoundPage, PAGE_MAX, type ServedEvents, type Wish } from './served-events.ts';

/** A page is handed out before the next one is asked for. */
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
