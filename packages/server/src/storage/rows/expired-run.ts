// Reads runs of expired content from rows, and gathers where in streams there is some.

import type { DueStream, ExpiredRun } from '../../streams/removal/removal.ts';
import { numberOf, textOrNone } from './columns.ts';

export function expiredRunIn(row: Readonly<Record<string, unknown>>): ExpiredRun {
  return {
    firstIndex: numberOf(row, 'first_index'),
    endIndex: numberOf(row, 'end_index'),
    decidedBy: textOrNone(row, 'decided_by'),
  };
}

/** Each stream once, with a span over all that was found in it. */
export function dueStreamsIn(found: Iterable<DueStream>): DueStream[] {
  const streams = new Map<string, DueStream>();
  for (const each of found) {
    const key = `${each.tenant} ${each.streamFirstIndex}`;
    const known = streams.get(key)?.span ?? each.span;
    const span = {
      firstIndex: Math.min(known.firstIndex, each.span.firstIndex),
      endIndex: Math.max(known.endIndex, each.span.endIndex),
    };
    streams.set(key, { ...each, span });
  }
  return [...streams.values()];
}
