// Finds events that have the id of a draft, in the log or earlier in the same request. Equal fingerprints of the sent
// fields show that it is the same event, as far as the caller may know (repeats.ts). An id whose content was removed
// stays in use, since nothing can be compared any more. Ids that the service chose are fresh and are not looked up.

import type { EventId } from '@tallystick/contract';
import { isRepeat } from '../../repeats.ts';
import { classificationAt } from '../rows/classification-column.ts';
import type { PooledRequest } from './append-message.ts';
import type { StoredId } from './pool-tables.ts';

/**
 * Undefined: there is none. A number: the draft at that position of the request is the same event. Otherwise the index
 * of the same event in the log, or a conflict.
 */
export type Recognized = undefined | number | Omit<StoredId, 'fingerprint'> | 'Conflict';

/** By position of the draft; shorter if none can be recognised. */
export function recognize(
  { drafts, clearance }: Pick<PooledRequest, 'drafts' | 'clearance'>,
  storedId: (eventId: EventId) => StoredId | undefined,
): Recognized[] {
  if (drafts.every(({ sentFingerprint }) => sentFingerprint === undefined)) return [];
  const earlier = new Map<EventId, number>();
  return drafts.map(({ eventId, sentFingerprint: fingerprint }, i) => {
    const again = { fingerprint, clearance };
    const stored = fingerprint === undefined ? undefined : storedId(eventId);
    if (stored !== undefined) {
      const { index, receivedAtMs, classification } = stored;
      return isRepeat(stored, again) ? { index, receivedAtMs, classification } : 'Conflict';
    }
    const first = earlier.get(eventId);
    if (first === undefined) {
      earlier.set(eventId, i);
      return undefined;
    }
    const { sentFingerprint, classification } = drafts[first]!;
    const before = { fingerprint: sentFingerprint, classification: classificationAt(classification) };
    return isRepeat(before, again) ? first : 'Conflict';
  });
}
