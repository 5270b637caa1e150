// The facts of one event, sent or stored, that rules may ask for. A fact is read when a rule asks for it, so unused facts cost
// nothing; many rules ask for the same, so each is read once.

import type { AuditEvent } from '@tallystick/contract';

export interface EventFacts extends Readonly<Pick<AuditEvent, 'action' | 'actor' | 'resource' | 'outcome'>> {
  /** Of an event that is being decided about it is the sender's hint, or undefined: to conditions it is missing then. */
  readonly classification: AuditEvent['classification'] | undefined;
  /** Undefined where the service will make one. */
  readonly correlationId: AuditEvent['correlationId'] | undefined;
  /** A member of actor or resource, where it can be had without reading all of them. */
  member?(of: 'actor' | 'resource', name: string): unknown;
  /** Parses context and payload, which is expensive, so only for a rule that is about them. */
  content(): Readonly<Pick<AuditEvent, 'context' | 'payload'>>;
}
