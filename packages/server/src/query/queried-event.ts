// An event as it is searched: all that a query can ask for, as one reader sees it.

import type { AuditEvent } from '@tallystick/contract';
import type { EventFacts } from '../policies/event-facts.ts';
import { contentSeen, type IndexSight, judgeBy } from '../policies/sight.ts';

export type QueriedEvent = Omit<AuditEvent, 'integrity'> & {
  readonly integrity: Pick<AuditEvent['integrity'], 'streamId'>;
};

/** As a reader with such a sight gets it: one that the reader may know of, which the index has made sure of. */
export function seenBy(event: QueriedEvent, sight: IndexSight): QueriedEvent {
  const { kind, classification } = event;
  const visibility = judgeBy(sight, { kind, classification, facts: () => queriedFacts(event) });
  return visibility.extent === 'Whole' ? event : { ...event, ...contentSeen(visibility, event) };
}

export function queriedFacts({ action, actor, resource, outcome, ...event }: QueriedEvent): EventFacts {
  const content = () => ({
    ...('context' in event && { context: event.context }),
    ...('payload' in event && { payload: event.payload }),
  });
  return { action, actor, resource, outcome, content };
}
