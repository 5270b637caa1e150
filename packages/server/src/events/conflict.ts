// Why an event is refused whose id is taken, alone or in a batch.

import type { EventId } from '@tallystick/contract';
import type { Refusal } from './judge.ts';

/** `field` is where the id stands in the body. */
export function conflictOf(eventId: EventId, field: string): Refusal {
  return {
    code: 'EVENT_ID_CONFLICT',
    message: `The event id ${eventId} was used before, for other content or for content that is no longer there.`,
    details: [{ field, issue: 'is taken by other content', value: eventId }],
  };
}
