// What a reader may see of an event, by the reader's clearance and the event's classification alone: all of it; its
// facts without context and payload; or, of a secret, nothing, not even that it is there.

import { type Classification, CLASSIFICATIONS } from '@tallystick/contract';
import { isAtLeast } from './classify.ts';

export type View = 'Whole' | 'Withheld' | 'Invisible';

export function viewFor(clearance: Classification, classification: Classification): View {
  if (isAtLeast(clearance, classification)) return 'Whole';
  return classification === 'Secret' && !isAtLeast(clearance, 'Confidential') ? 'Invisible' : 'Withheld';
}

/** The classifications of the events that such a reader may know of. */
export function visibleTo(clearance: Classification): readonly Classification[] {
  return CLASSIFICATIONS.filter((classification) => viewFor(clearance, classification) !== 'Invisible');
}

/** What stands in place of a single value that was redacted. */
export const REDACTED = '[REDACTED]';

/**
 * What stands in place of withheld content. Always both members, whatever the event has of them: whether there is a
 * payload is withheld with it.
 */
export const WITHHELD = {
  context: {},
  payload: {},
  redaction: { fields: ['payload', 'context'], reason: 'ClassificationAboveClearance' },
} as const;
