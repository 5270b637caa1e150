// The entry of an event as a follower reads it. One that was altered stays where it is and holds up nothing that comes behind it.

import { decodeEntry, type Entry, EvidenceError } from '@tallystick/evidence';
import type { Altered, StoredEvent } from '../streams/log.ts';

export function entryOf({ entry, content }: Pick<StoredEvent, 'entry' | 'content'>): Entry | Altered {
  if (content !== undefined && 'fault' in content) return content;
  try {
    return decodeEntry(entry);
  } catch (error) {
    if (error instanceof EvidenceError) return { fault: error.message };
    throw error;
  }
}
