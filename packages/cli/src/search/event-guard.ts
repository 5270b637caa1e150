// Whether what a service has answered is an event, or the bare place of one: a stranger's JSON is no event because it
// came from the right address.

import type { AuditEvent, StreamEvent, WithheldEvent } from '@tallystick/contract';
import { areTexts, areTextsIfAny, isCount, membersOf } from '../members.ts';

export function isEvent(value: unknown): value is AuditEvent {
  const event = membersOf(value);
  const actor = membersOf(event['actor']);
  const resource = membersOf(event['resource']);
  return (
    isPlaced(event) &&
    areTexts(event, FACTS) &&
    areTexts(actor, ['actorType']) &&
    areTextsIfAny(actor, ['userId', 'userName', 'serviceId', 'serviceName']) &&
    areTexts(resource, ['resourceType', 'resourceId']) &&
    areTextsIfAny(resource, ['resourceName'])
  );
}

export function isStreamEvent(value: unknown): value is StreamEvent {
  return isWithheld(value) || isEvent(value);
}

const FACTS = [
  'tenantId',
  'kind',
  'timestamp',
  'receivedAt',
  'correlationId',
  'action',
  'classification',
  'outcome',
  'submittedBy',
] as const;

function isWithheld(value: unknown): value is WithheldEvent {
  const place = membersOf(value);
  return isPlaced(place) && areTexts(place, ['withheld']);
}

function isPlaced(event: Record<string, unknown>): boolean {
  const integrity = membersOf(event['integrity']);
  return (
    areTexts(event, ['eventId']) &&
    isCount(event['sequence']) &&
    isCount(integrity['leafIndex']) &&
    areTexts(integrity, ['streamId', 'leafHash', 'previousHash'])
  );
}
