// Events as the log gives them to an index.

import type { QueriedEvent } from '../../../query/queried-event.ts';
import { systemClock } from '../../../runtime/clock.ts';
import { createUlids } from '../../../runtime/ids.ts';
import { createSystemRandom } from '../../../runtime/random.ts';
import type { Said } from './plain-definition.ts';

const nextId = createUlids(systemClock, createSystemRandom());

export function eventsOf(all: readonly Said[]): QueriedEvent[] {
  return all.map((each, i) => ({
    ...each,
    context: each.context ?? {},
    kind: each.kind ?? 'Event',
    eventId: each.eventId ?? nextId(),
    tenantId: 'acme',
    sequence: i + 1,
    receivedAt: new Date(Date.UTC(2026, 5, 1, 0, 0, i)).toISOString(),
    integrity: { streamId: i < 10 ? 'STREAM1' : 'STREAM2' },
  }));
}
