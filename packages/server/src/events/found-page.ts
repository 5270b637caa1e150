// The events that the index has found, as this reader gets them: read from the log, each under the checkpoint of its own
// log. An event that differs from what was hashed is left out and reported. A purged one is left out.

import type { AuditEvent } from '@tallystick/contract';
import type { Call } from '../call.ts';
import { pausesBy } from '../runtime/pause.ts';
import { type AlteredPlace, reportAltered } from './altered.ts';
import type { FoundEvent, SortKey } from './event-index.ts';
import type { ReadNoticeParts } from './secret-read.ts';
import { judgesOf, placeOf, type Published, showEvent } from './show.ts';

export interface FoundPageParts extends ReadNoticeParts {
  /** How far the log is signed that holds this index of the tenant's sequence. */
  readonly publishedOf: (call: Call, index: number) => Promise<Published>;
}

export interface ShownMatch {
  readonly event: AuditEvent;
  readonly found: FoundEvent;
}

export async function showFound(
  call: Call,
  found: readonly FoundEvent[],
  parts: FoundPageParts,
): Promise<ShownMatch[]> {
  const { tenant } = call;
  const judges = judgesOf(call);
  const publishedOf = publishedByLog(call, found, parts);
  const altered: AlteredPlace[] = [];
  const shown: ShownMatch[] = [];
  const pause = pausesBy(parts.clock);
  for (const each of found) {
    const { stored } = each;
    const published = await publishedOf(stored.index);
    await pause();
    const seen = showEvent(tenant!, stored, judges, published);
    if ('event' in seen) shown.push({ event: seen.event, found: each });
    else if ('fault' in seen) {
      altered.push({ eventId: placeOf(stored, published).eventId, index: stored.index, fault: seen.fault });
    }
  }
  const [first, ...others] = altered;
  if (first !== undefined) reportAltered(call, [first, ...others], parts.telemetry);
  return shown;
}

/**
 * How far the log of each event is signed. A tenant has few logs, one behind the other, and a page is mostly of the
 * newest: what is known of the log of an index holds for every later one, once the newest of the page was asked for.
 */
function publishedByLog(call: Call, found: readonly FoundEvent[], { publishedOf }: FoundPageParts) {
  const known: Published[] = [];
  const newest = found.reduce((max, { stored }) => Math.max(max, stored.index), -1);
  return async (index: number): Promise<Published> => {
    if (known.length === 0) known.push(await publishedOf(call, newest));
    for (;;) {
      const holds = known.find(({ firstIndex }) => firstIndex <= index);
      if (holds !== undefined) return holds;
      // The one before the oldest that is known.
      known.push(await publishedOf(call, known.at(-1)!.firstIndex - 1));
    }
  };
}

/** Whether a cursor holds a sort key of this version of the service. */
export function isPlace(value: unknown): value is SortKey {
  if (typeof value !== 'object' || value === null) return false;
  const { atMs, atNs, action, eventId, index } = value as Partial<Record<keyof SortKey, unknown>>;
  return (
    [atMs, atNs, index].every((number) => Number.isSafeInteger(number)) &&
    typeof action === 'string' &&
    typeof eventId === 'string'
  );
}
