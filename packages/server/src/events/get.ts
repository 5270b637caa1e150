// One event by its id, read from the log itself, so that it is there from the moment of its receipt. What is absent,
// another tenant's, not for this reader or no longer there is the same to whoever asks. That a secret was read is
// itself in the log, and durable there before the answer.

import { type Answer, AuditError, ERRORS, type InputOf, isUuid } from '@tallystick/contract';
import { KINDS } from '@tallystick/evidence';
import type { Call } from '../call.ts';
import type { Clock } from '../runtime/clock.ts';
import type { LogReader } from '../streams/log.ts';
import { draftNotice } from '../streams/notice.ts';
import type { Sequencer } from '../streams/sequencer.ts';
import type { NewIds } from './draft.ts';
import { visibleTo } from './redact.ts';
import { showEvent } from './show.ts';

export interface GetParts {
  readonly log: LogReader;
  readonly sequencer: Pick<Sequencer, 'append'>;
  readonly clock: Clock;
  readonly ids: NewIds;
}

type GetAnswer = Answer<'events.get'>;

export function createGet(parts: GetParts) {
  return async (call: Call, { eventId }: InputOf<'events.get'>): Promise<GetAnswer> => {
    const { tenant, tenantRecord, caller } = call;
    // A tenant that nobody knows has no log.
    const isKnown = tenant !== undefined && tenantRecord !== undefined && caller !== undefined;
    const stored = isKnown && (await parts.log.forTenant(tenant).event(eventId, visibleTo(caller.clearance)));
    const body = stored ? showEvent(tenant, stored, caller.clearance) : undefined;
    if (body === undefined) throw new AuditError('EVENT_NOT_FOUND', ERRORS.EVENT_NOT_FOUND.meaning);
    if (body.classification === 'Secret') await noteRead(call, body, parts);
    return { kind: 'Done', body };
  };
}

async function noteRead(
  { correlation: { requestId, correlationId } }: Call,
  { tenantId, eventId }: Pick<GetAnswer['body'], 'tenantId' | 'eventId'>,
  { sequencer, clock, ids }: GetParts,
): Promise<void> {
  const notice = draftNotice(
    {
      kind: KINDS.administration,
      action: 'Read.SecretEvent',
      resource: { resourceType: 'Event', resourceId: eventId },
      payload: { act: 'SecretEventsRead', requestId, subjectIds: [eventId], count: 1 },
      correlationId: isUuid(correlationId) ? correlationId : ids.uuid(),
    },
    { eventId: ids.nextId(), nowMs: clock.now() },
  );
  await sequencer.append({ tenant: tenantId, drafts: [notice], atomic: true });
}
