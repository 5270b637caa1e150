// That secret events were read is itself in the log: one notice a request, durable there before the answer.

import { ok as assert } from 'node:assert/strict';
import { type EventId, isUuid } from '@tallystick/contract';
import { KINDS } from '@tallystick/evidence';
import type { Call } from '../call.ts';
import type { Clock } from '../runtime/clock.ts';
import { draftNotice } from '../streams/notice.ts';
import type { Sequencer } from '../streams/sequencer.ts';
import type { Telemetry } from '../telemetry.ts';
import type { NewIds } from './draft.ts';

export interface ReadNoticeParts {
  readonly sequencer: Pick<Sequencer, 'append'>;
  readonly clock: Clock;
  readonly ids: NewIds;
  readonly telemetry: Pick<Telemetry, 'info' | 'error'>;
}

export async function noteSecretRead(
  { tenant, caller, correlation: { requestId, correlationId } }: Call,
  eventIds: readonly [EventId, ...EventId[]],
  { sequencer, clock, ids, telemetry }: ReadNoticeParts,
): Promise<void> {
  assert(tenant !== undefined, 'an event belongs to a tenant');
  const notice = draftNotice(
    {
      kind: KINDS.administration,
      action: 'Read.SecretEvent',
      resource: { resourceType: 'Event', resourceId: eventIds[0] },
      payload: {
        act: 'SecretEventsRead',
        requestId,
        subjectIds: [...eventIds],
        count: eventIds.length,
      },
      correlationId: isUuid(correlationId) ? correlationId : ids.uuid(),
    },
    { eventId: ids.nextId(), nowMs: clock.now() },
  );
  // The notice stays for ever and names no person; who it was is for the operator's diagnostics.
  telemetry.info('secret events are read', {
    tenant,
    requestId,
    caller: caller?.name,
    count: eventIds.length,
  });
  await sequencer.append({ tenant, drafts: [notice], atomic: true });
}
