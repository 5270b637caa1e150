// Events whose stored form differs from the accepted one, because somebody or a faulty disk has changed it. They are
// reported with their place, and shown to nobody.

import type { EventId } from '@tallystick/contract';
import { AlteredEventError, type Call } from '../call.ts';
import type { Telemetry } from '../telemetry.ts';

export interface AlteredPlace {
  readonly eventId: EventId;
  /** In the tenant's sequence. */
  readonly index: number;
  readonly fault: string;
}

/** Reports the first altered event of a request; returns the error for callers that cannot go on without the event. */
export function reportAltered(
  {
    tenant,
    correlation: { requestId },
  }: { readonly tenant?: Call['tenant']; readonly correlation: Pick<Call['correlation'], 'requestId'> },
  [{ eventId, index, fault }, ...others]: readonly [AlteredPlace, ...AlteredPlace[]],
  telemetry: Pick<Telemetry, 'altered'>,
): AlteredEventError {
  const error = new AlteredEventError(`the event ${eventId} of ${tenant} is not what was hashed: ${fault}`);
  const count = 1 + others.length;
  telemetry.altered('Event', 'the store differs from what was accepted', error, {
    tenant,
    eventId,
    index,
    count,
    requestId,
  });
  return error;
}
