// That secret events were read is itself in the log: one notice a request, durable there before the answer.

import { ok as assert } from 'node:assert/strict';
import { type AuditEvent, isUuid } from '@tallystick/contract';
import { KINDS } from '@tallystick/evidence';
import type { Call } from '../call.ts';
import { isReadNoted } from '../policies/sight.ts';
import type { Clock } from '../runtime/clock.ts';
import { draftNotice } from '../streams/append/notice.ts';
import type { EventsRequest } from '../streams/log.ts';
import type { Telemetry } from '../telemetry.ts';
import type { NewIds } from './draft.ts';

export interface ReadNoticeParts {
  readonly sequencer: { append(request: EventsRequest): Promise<unknown> };
  readonly clock: Clock;
  readonly ids: NewIds;
  readonly telemetry: Pick<Telemetry, 'info' | 'error' | 'altered'>;
}

/** Who reads. */
export type ReadingCall = Pick<Call, 'tenant' | 'caller' | 'correlation'>;

/** The events that were seen, secret or not; each is named once. */
export async function noteSecretsRead(
  { tenant, caller, correlation: { requestId, correlationId } }: ReadingCall,
  seen: readonly Pick<AuditEvent, 'eventId' | 'classification'>[],
  { sequencer, clock, ids, telemetry }: ReadNoticeParts,
): Promise<void> {
  const eventIds = [...new Set(seen.filter(isReadNoted).map(({ eventId }) => eventId))];
  const [first] = eventIds;
  if (first === undefined) return;
  assert(tenant !== undefined, 'an event belongs to a tenant');
  const notice = draftNotice(
    {
      kind: KINDS.administration,
      action: 'Read.SecretEvent',
      resource: { resourceType: 'Event', resourceId: first },
      payload: {
        act: 'SecretEventsRead',
        requestId,
        subjectIds: eventIds,
        count: eventIds.length,
      },
      correlationId: isUuid(correlationId) ? correlationId : ids.uuid(),
    },
    { eventId: ids.nextId(), nowMs: clock.now() },
  );
  // The notice stays for ever and names no person; the diagnostics name the reader, for the operator.
  telemetry.info('secret events are read', {
    tenant,
    requestId,
    caller: caller?.name,
    count: eventIds.length,
  });
  await sequencer.append({ tenant, drafts: [notice], atomic: true });
}
