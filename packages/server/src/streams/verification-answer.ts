// What callers see of a verification: how far it has come, and its verdict.

import type { StreamVerification } from '@tallystick/contract';
import { toHex } from '@tallystick/evidence';
import { instant } from '../runtime/clock.ts';
import type { RangeVerdict } from './tree.ts';
import type { Verification } from './verification-turns.ts';

export function shownVerification(verification: Verification): StreamVerification {
  const { streamId, operationId, requestedBy, checkedEvents, verdict, failureReason } = verification;
  const { startedAtMs, completedAtMs } = verification;
  const totalEvents = verification.endIndex - verification.fromIndex;
  const isOver = completedAtMs !== undefined;
  const status =
    failureReason !== undefined ? 'Failed' : isOver ? 'Completed' : startedAtMs ? 'Processing' : 'Pending';
  return {
    streamId,
    operationId,
    status,
    progress: {
      percent:
        verdict !== undefined || totalEvents === 0 ? 100 : Math.floor((100 * checkedEvents) / totalEvents),
      processedEvents: verdict?.checkedEvents ?? checkedEvents,
      totalEvents,
    },
    requestedAt: instant(verification.requestedAtMs),
    requestedBy,
    ...(startedAtMs === undefined ? {} : { startedAt: instant(startedAtMs) }),
    ...(completedAtMs === undefined ? {} : { completedAt: instant(completedAtMs) }),
    ...(failureReason === undefined ? {} : { failureReason }),
    ...(verdict === undefined || !isOver ? {} : { verdict: verdictOf(verification, verdict, completedAtMs) }),
  };
}

function verdictOf(
  { fromIndex, endIndex }: Verification,
  { fault, rootHash, ...counts }: RangeVerdict,
  atMs: number,
): NonNullable<StreamVerification['verdict']> {
  return {
    verified: fault === undefined,
    ...(endIndex > fromIndex ? { firstSequence: fromIndex + 1, lastSequence: endIndex } : {}),
    ...counts,
    rootHash: toHex(rootHash),
    ...(fault === undefined ? {} : { fault: faultOf(fault) }),
    verifiedAt: instant(atMs),
  };
}

function faultOf({ index, reason, message }: NonNullable<RangeVerdict['fault']>) {
  return { ...(index === undefined ? {} : { sequence: index + 1 }), reason, message };
}
