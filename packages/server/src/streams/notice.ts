// A notice as a draft: what the service records in a tenant's log about its own acts. Its actor is the System and
// nobody else, whatever caller asked for the act: a notice holds ids and no personal data, and stays for ever.

import { ok as assert } from 'node:assert/strict';
import { type EventId, isUuid } from '@tallystick/contract';
import { canonicalJson, type NoticeKind, type NoticePayload, payloadFault } from '@tallystick/evidence';
import { instant } from '../runtime/clock.ts';
import type { Draft } from './log.ts';

export interface NoticeFacts<K extends NoticeKind> {
  readonly kind: K;
  /** Such as `Create.ApiKey`. */
  readonly action: string;
  readonly resource: { readonly resourceType: string; readonly resourceId: string };
  readonly payload: NoticePayload<K>;
  /** A UUID: that of the request which caused it, or a new one. */
  readonly correlationId: string;
}

export function draftNotice<K extends NoticeKind>(
  { kind, action, resource, payload, correlationId }: NoticeFacts<K>,
  { eventId, nowMs }: { readonly eventId: EventId; readonly nowMs: number },
): Draft {
  const fault = payloadFault(kind, payload);
  assert(fault === undefined, `a notice of kind ${kind} ${fault}`);
  assert(isUuid(correlationId), 'the correlation id of a notice is a UUID');
  const facts = {
    timestamp: instant(nowMs),
    correlationId,
    actor: { actorType: 'System' },
    action,
    resource,
    classification: 'Internal',
    outcome: 'Success',
    submittedBy: 'system',
  };
  return {
    kind,
    eventId,
    texts: [Buffer.from(canonicalJson(facts)), Buffer.from(canonicalJson({ payload }))],
    classification: 'Internal',
    expiresAtMs: undefined,
  };
}
