// An event as it is searched: all that a query can ask for, as one reader sees it.

import type { AuditEvent, PolicyId } from '@tallystick/contract';
import { decidingPolicies } from '../policies/decided-by.ts';
import type { EventFacts } from '../policies/event-facts.ts';
import { contentSeen, type IndexSight, judgeBy } from '../policies/sight.ts';

export type QueriedEvent = Omit<AuditEvent, 'integrity'> & {
  readonly integrity: Pick<AuditEvent['integrity'], 'streamId'>;
  /** The policies that have decided its classification or its retention. */
  readonly decidedBy?: readonly PolicyId[];
};

/** Of the text that is stored with an event. */
export function decidedIn(text: unknown): Pick<QueriedEvent, 'decidedBy'> {
  return typeof text === 'string' ? { decidedBy: decidingPolicies(text) } : {};
}

/** As a reader with such a sight gets it; undefined where the reader may not know of it. */
export function seenBy(event: QueriedEvent, sight: IndexSight): QueriedEvent | undefined {
  const { kind, classification } = event;
  const visibility = judgeBy(sight, { kind, classification, facts: () => queriedFacts(event) });
  return visibility.extent === 'Invisible' ? undefined : contentSeen(visibility, event);
}

export function queriedFacts(event: QueriedEvent): EventFacts {
  const { action, actor, resource, outcome, classification, correlationId } = event;
  const content = () => ({
    ...('context' in event && { context: event.context }),
    ...('payload' in event && { payload: event.payload }),
  });
  return { action, actor, resource, outcome, classification, correlationId, content };
}
