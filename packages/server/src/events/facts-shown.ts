// The facts of an event as it is shown, for conditions.

import type { AuditEvent } from '@tallystick/contract';
import type { EventFacts } from '../policies/event-facts.ts';
import { readWritten } from '../written-json.ts';

export function factsShown(event: AuditEvent): EventFacts {
  const { action, actor, resource, outcome, classification, correlationId, context, payload } = event;
  const content = () => ({
    ...(context !== undefined && { context: readWritten(context) }),
    ...(payload !== undefined && { payload: readWritten(payload) }),
  });
  return { action, actor, resource, outcome, classification, correlationId, content };
}
