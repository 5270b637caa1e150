// An event as it is searched: all that a query can ask for, as one reader sees it.

import type { AuditEvent, Classification } from '@tallystick/contract';
import { WITHHELD } from '../events/redact.ts';

export type QueriedEvent = Omit<AuditEvent, 'integrity'> & {
  readonly integrity: Pick<AuditEvent['integrity'], 'streamId'>;
};

/** For a reader who sees the content of the classes `whole`. */
export function seenBy(event: QueriedEvent, whole: readonly Classification[]): QueriedEvent {
  // Of a notice everything is shown to everybody.
  if (event.kind === 'Notice' || whole.includes(event.classification)) return event;
  const { context, payload, redaction } = WITHHELD;
  return { ...event, context, payload, redaction: { ...redaction, fields: [...redaction.fields] } };
}
