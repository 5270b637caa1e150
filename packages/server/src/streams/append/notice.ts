// A notice as a draft: the record of an act of the service in a tenant's log.

import { ok as assert } from 'node:assert/strict';
import { type EventId, isUuid } from '@tallystick/contract';
import { encodeNotice, type NoticeFacts, type NoticeKind } from '@tallystick/evidence';
import { instant } from '../../runtime/clock.ts';
import type { Draft } from '../log.ts';

export function draftNotice<K extends NoticeKind>(
  facts: NoticeFacts<K>,
  { eventId, nowMs }: { readonly eventId: EventId; readonly nowMs: number },
): Draft {
  assert(isUuid(facts.correlationId), 'the correlation id of a notice is a UUID');
  return {
    kind: facts.kind,
    eventId,
    texts: encodeNotice(facts, instant(nowMs)),
    classification: 'Internal',
    retention: undefined,
  };
}
