// What was removed from the log since a segment was made is found by no question, until the segment is made again. Of an event
// that has lost single units, the log itself tells whether it is still asked for.

import { tagOf, toBase64 } from '@tallystick/evidence';
import type { IndexSpan } from '../../../streams/removal/removal.ts';
import { ALL_TRAITS } from '../segments/terms.ts';
import type { Removal } from '../store/segment-store.ts';
import { and, NONE, not, or, type Plan } from './plan.ts';

/** Notices keep their content in every span. */
const EVENTS: Plan = {
  of: 'Traits',
  numbers: [...ALL_TRAITS.keys()].filter((number) => ALL_TRAITS[number]!.kind === 'Event'),
};

const ACTOR_TAGS = new Set(
  ['userId', 'userName', 'serviceId', 'serviceName'].map((member) =>
    toBase64(tagOf(`/actor/${member}`).bytes),
  ),
);

export function withoutRemoved(plan: Plan, removals: readonly Removal[]): Plan {
  if (removals.length === 0) return plan;
  const purged = eventsIn(removals.filter(({ units }) => units === undefined));
  const redacted = eventsIn(removals.filter(({ units }) => units !== undefined));
  const left =
    redacted.of === 'None'
      ? plan
      : or([and([plan, not(redacted)]), { of: 'Between', sure: NONE, possible: redacted }]);
  return and([left, not(purged)]);
}

/** Whether segments may still say who the actor was of an event that has lost that. */
export function areActorsRemoved(removals: readonly Removal[]): boolean {
  return removals.some(({ units }) => units?.tags.some((tag) => ACTOR_TAGS.has(tag)) === true);
}

function eventsIn(removals: readonly Removal[]): Plan {
  const spans: IndexSpan[] = removals
    .flatMap((removal) => removal.spans)
    .toSorted((a, b) => a.firstIndex - b.firstIndex);
  return spans.length === 0 ? NONE : and([{ of: 'Within', spans }, EVENTS]);
}
