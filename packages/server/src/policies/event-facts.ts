// The facts of one event, sent or stored, that rules may ask for. A fact is read when a rule asks for it, so unused facts cost
// nothing.

import type { AuditEvent } from '@tallystick/contract';

export interface EventFacts extends Readonly<Pick<AuditEvent, 'action' | 'actor' | 'resource' | 'outcome'>> {
  /** Parses context and payload, which is expensive, so only for a rule that is about them. */
  content(): Readonly<Pick<AuditEvent, 'context' | 'payload'>>;
}
