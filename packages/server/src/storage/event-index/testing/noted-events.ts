// Events with a note each, and questions about them.

import type { AuditEvent } from '@tallystick/contract';
import type { Found } from '../../../events/event-index.ts';
import { parseQuery } from '../../../query/query-parser.ts';
import { shownEvent } from '../../../query/testing/shown-event.ts';
import type { Said } from './plain-definition.ts';

export const indexesOf = ({ events }: Found) => events.map(({ stored }) => stored.index);
export const asking = (text: string) => ({ query: parseQuery(text).query! });

export function noting(note: string, more: Partial<AuditEvent> = {}): Said {
  // Each gets an id of its own.
  const { eventId: _, ...shown } = shownEvent({ context: {}, payload: { note }, ...more });
  return shown;
}

export const notes = (count: number, note = 'refund') =>
  Array.from({ length: count }, (_, i) => noting(`${note} n${i}`));
