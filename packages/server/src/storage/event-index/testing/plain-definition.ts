// The plain definition of what is found: every event in memory, each one looked at. Every index is compared with it.

import type { AuditEvent } from '@tallystick/contract';
import { canonicalJson, KINDS } from '@tallystick/evidence';
import type { Found, OrderStep, Question } from '../../../events/event-index.ts';
import type { Content, EventFields } from '../../../events/show.ts';
import { passes } from '../../../query/filters.ts';
import { matches } from '../../../query/matches.ts';
import { EVERYTHING } from '../../../query/query.ts';
import { type QueriedEvent, seenBy } from '../../../query/queried-event.ts';
import { compareTimes } from '../../../query/times.ts';
import type { Draft } from '../../../streams/log.ts';

/** What an event says; the rest is given by the log. */
export type Said = EventFields &
  Partial<Content & Pick<AuditEvent, 'kind' | 'eventId'>> & { readonly decidedByText?: string };

export const ALL_CLASSES = ['Public', 'Internal', 'Confidential', 'Secret'] as const;
export const NEWEST_FIRST: readonly OrderStep[] = [{ field: 'timestamp', isDescending: true }];

export function questionOf(asked: Partial<Question>): Question {
  return {
    query: EVERYTHING,
    filters: {},
    sight: { visible: ALL_CLASSES, whole: ALL_CLASSES },
    order: NEWEST_FIRST,
    direction: 'Next',
    beyond: undefined,
    rowsMax: 1000,
    aggregations: [],
    isScored: true,
    ...asked,
  };
}

/** What is found among these events, in order. */
export function expectedOf(events: readonly QueriedEvent[], asked: Partial<Question>): QueriedEvent[] {
  const { query, filters, sight, order } = questionOf(asked);
  const steps = order === 'Relevance' ? BY_TIME : order;
  return events
    .filter(({ classification }) => sight.access !== undefined || sight.visible.includes(classification))
    .flatMap((event) => seenBy(event, sight) ?? [])
    .filter((event) => passes(filters, event) && matches(query, event))
    .sort((a, b) => compareBy(steps, a, b));
}

/** Throws unless what was found is what is expected. Gives how many. */
export function requireSame(
  expected: readonly QueriedEvent[],
  { events, total }: Found,
  asked: Partial<Question>,
  gatheredMax = Infinity,
): number {
  const wanted = expected.map(({ sequence }) => sequence);
  const found = events.map(({ stored }) => stored.index + 1);
  const isSame = JSON.stringify(found) === JSON.stringify(wanted);
  const isTotal = total === wanted.length || (total === gatheredMax + 1 && total < wanted.length);
  if (isSame && isTotal) return wanted.length;
  throw new Error(`found ${found.join()} (${total}), not ${wanted.join()}, for ${JSON.stringify(asked)}`);
}

/** Of an event that was shown, what the log gives is left out: it is given anew. */
export function draftOf(
  { context, payload, kind, eventId, decidedByText, ...said }: Said,
  nextId: () => string,
): Draft {
  const { timestamp, correlationId, actor, action, resource, classification, outcome, submittedBy } = said;
  const facts = { timestamp, correlationId, actor, action, resource, classification, outcome, submittedBy };
  return {
    kind: kind === 'Notice' ? KINDS.administration : KINDS.event,
    eventId: eventId ?? nextId(),
    texts: [Buffer.from(canonicalJson(facts)), Buffer.from(canonicalJson({ context, payload }))],
    classification,
    retention: undefined,
    decidedBy: decidedByText,
  };
}

const BY_TIME: readonly OrderStep[] = [{ field: 'timestamp', isDescending: false }];

/** In the steps, then by time, and then in the order of the log, each as the last step goes; of no step in the order of the log. */
function compareBy(steps: readonly OrderStep[], a: QueriedEvent, b: QueriedEvent): number {
  for (const { field, isDescending } of steps) {
    const order =
      field === 'timestamp' ? compareTimes(a.timestamp, b.timestamp) : compareTexts(a[field], b[field]);
    if (order !== 0) return isDescending ? -order : order;
  }
  const isDescending = steps.at(-1)?.isDescending ?? false;
  const order =
    (steps.length === 0 || steps.some(({ field }) => field === 'timestamp')
      ? 0
      : compareTimes(a.timestamp, b.timestamp)) || a.sequence - b.sequence;
  return isDescending ? -order : order;
}

function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
