// What rules may ask of one event, sent or stored. Each fact is read when a rule asks for it, so that one that no rule asks for
// costs nothing.

import type { AuditEvent } from '@tallystick/contract';

export interface EventFacts extends Readonly<Pick<AuditEvent, 'action' | 'actor' | 'resource' | 'outcome'>> {
  /** Parses context and payload: dear, so only for a rule that is about them. */
  content(): Readonly<Pick<AuditEvent, 'context' | 'payload'>>;
}
