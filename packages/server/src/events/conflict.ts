// Why an event is refused whose id is taken, alone or in a batch. The same words in every case: they must not tell whether
// the content is equal.

import type { EventId } from '@tallystick/contract';
import type { EventRefusal } from './validate-event.ts';

/** `field` is where the id stands in the body. */
export function conflictOf(eventId: EventId, field: string): EventRefusal {
  return {
    code: 'EVENT_ID_CONFLICT',
    message: `The event id ${eventId} belongs to an event with other content, with content that is no longer there, or with content that another caller sent and you may not read.`,
    details: [{ field, issue: 'is taken', value: eventId }],
  };
}
