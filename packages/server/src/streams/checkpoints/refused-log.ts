// The answer to writes and proofs on a refused log: the reason, and when to retry. A comparison passes by itself; other
// refusals last until an operator acts.

import { AuditError, type TenantId } from '@tallystick/contract';

/** The reason while the log is being compared with its anchor. */
export const COMPARING =
  'it is being compared with its anchor, as after every stop in the middle of signing; try again in a moment.';

/** An operator has to restore a copy or decide, so a retry every second would be noise. */
const LASTING_SECONDS = 60;

export function refusedLog(tenant: TenantId, why: string): AuditError {
  return new AuditError(
    'SERVICE_UNAVAILABLE',
    `The log of ${tenant} is refused: ${why}`,
    why === COMPARING ? {} : { retryAfterSeconds: LASTING_SECONDS },
  );
}
