// What was removed from the log since a segment was made is found by no question, until the segment is made again.

import type { IndexSpan } from '../../../streams/removal/removal.ts';
import { ALL_TRAITS } from '../segments/terms.ts';
import { and, type Plan } from './plan.ts';

/** Notices keep their content in every span. */
const EVENTS: Plan = {
  of: 'Traits',
  numbers: [...ALL_TRAITS.keys()].filter((number) => ALL_TRAITS[number]!.kind === 'Event'),
};

export function withoutRemoved(plan: Plan, removed: readonly IndexSpan[]): Plan {
  if (removed.length === 0) return plan;
  return and([plan, { of: 'Not', plan: and([{ of: 'Within', spans: removed }, EVENTS]) }]);
}
