// What is found where nothing is indexed yet.

import type { Aggregations } from '@tallystick/contract';
import type { BuildStep, Found, Question } from '../../events/event-index.ts';

/** Counts that were asked for are there, and empty. */
export function nothingFor({ aggregations }: Question): Omit<Found, 'state'> {
  const empty: Aggregations = {};
  for (const aggregation of aggregations) empty[aggregation] = [];
  return {
    events: [],
    isCut: false,
    total: 0,
    aggregations: aggregations.length === 0 ? undefined : empty,
    isApproximate: false,
  };
}

/** A tenant that has logged nothing has a whole index. */
export const NOTHING_TO_BUILD: BuildStep = { processedEvents: 0, totalEvents: 0, isDone: true };
