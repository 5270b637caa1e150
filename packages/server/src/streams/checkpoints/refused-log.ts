// What is answered to whoever wants to write to a log that is refused, or to have something proven of it: the reason, and
// when it is worth asking again. A comparison passes by itself; the rest lasts until an operator has acted.

import { AuditError, type TenantId } from '@tallystick/contract';

/** Why a log is refused of which nobody knows yet whether it agrees with its anchor. */
export const COMPARING =
  'it is being compared with its anchor, as after every stop in the middle of signing; try again in a moment.';

/** Somebody has to restore a copy or to decide; asking every second would only be noise. */
const LASTING_SECONDS = 60;

export function refusedLog(tenant: TenantId, why: string): AuditError {
  return new AuditError(
    'SERVICE_UNAVAILABLE',
    `The log of ${tenant} is refused: ${why}`,
    why === COMPARING ? {} : { retryAfterSeconds: LASTING_SECONDS },
  );
}
