// The public form of a verification: its progress and its verdict.

import type { StreamVerification } from '@tallystick/contract';
import { toHex } from '@tallystick/evidence';
import { instant } from '../../runtime/clock.ts';
import type { Job } from '../../work/jobs.ts';
import type { RangeVerdict } from '../tree.ts';
import { type Asked, progressIn, type Result, resultIn } from './verification-texts.ts';

/** Without a job: the verification as it was just requested. */
export function shownVerification(operationId: string, asked: Asked, job?: Job): StreamVerification {
  const { streamId, requestedBy, requestedAtMs, fromIndex, endIndex } = asked;
  const checkedEvents = job === undefined ? 0 : progressIn(job);
  const result = job && resultIn(job);
  const verdict = result && 'verdict' in result ? result.verdict : undefined;
  const totalEvents = endIndex - fromIndex;
  // The store has a clock of its own.
  const since = (ms: number) => instant(Math.max(requestedAtMs, ms));
  return {
    streamId,
    operationId,
    status: statusOf(job, result),
    progress: {
      percent:
        verdict !== undefined || totalEvents === 0 ? 100 : Math.floor((100 * checkedEvents) / totalEvents),
      processedEvents: verdict?.checkedEvents ?? checkedEvents,
      totalEvents,
    },
    requestedAt: instant(requestedAtMs),
    requestedBy,
    ...(job?.startedAtMs === undefined ? {} : { startedAt: since(job.startedAtMs) }),
    ...(job?.endedAtMs === undefined ? {} : { completedAt: since(job.endedAtMs) }),
    ...(result && 'failureReason' in result ? { failureReason: result.failureReason } : {}),
    ...(verdict === undefined ? {} : { verdict: verdictOf(asked, verdict, since(job!.endedAtMs!)) }),
  };
}

function statusOf(job: Job | undefined, result: Result | undefined): StreamVerification['status'] {
  if (result !== undefined) return 'verdict' in result ? 'Completed' : 'Failed';
  return job?.startedAtMs === undefined ? 'Pending' : 'Processing';
}

function verdictOf(
  { fromIndex, endIndex }: Asked,
  { fault, rootHash, ...counts }: RangeVerdict,
  verifiedAt: string,
): NonNullable<StreamVerification['verdict']> {
  return {
    verified: fault === undefined,
    ...(endIndex > fromIndex ? { firstSequence: fromIndex + 1, lastSequence: endIndex } : {}),
    ...counts,
    rootHash: toHex(rootHash),
    ...(fault === undefined ? {} : { fault: faultOf(fault) }),
    verifiedAt,
  };
}

function faultOf({ index, reason, message }: NonNullable<RangeVerdict['fault']>) {
  return { ...(index === undefined ? {} : { sequence: index + 1 }), reason, message };
}
