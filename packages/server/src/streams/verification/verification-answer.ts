// The public form of a verification: its progress and its verdict.

import type { StreamVerification } from '@tallystick/contract';
import { toHex } from '@tallystick/evidence';
import { shownOperation } from '../../work/background-operation.ts';
import type { Job } from '../../work/jobs.ts';
import type { RangeVerdict } from '../tree.ts';
import { progressIn, type Result, type VerificationRequest } from './verification-texts.ts';

/** Without a job: the verification as it was just requested. */
export function shownVerification(
  operationId: string,
  request: VerificationRequest,
  job?: Job,
  result?: Result,
): StreamVerification {
  const { streamId, fromIndex, endIndex } = request;
  const verdict = result && 'verdict' in result ? result.verdict : undefined;
  const processedEvents = verdict?.checkedEvents ?? (job === undefined ? 0 : progressIn(job));
  const totalEvents = endIndex - fromIndex;
  const shown = shownOperation(request, { processedEvents, totalEvents }, result, job);
  return {
    streamId,
    operationId,
    ...shown,
    // An empty range has nothing left to verify.
    ...(totalEvents === 0 ? { progress: { ...shown.progress, percent: 100 } } : {}),
    ...(verdict === undefined ? {} : { verdict: verdictOf(request, verdict, shown.completedAt!) }),
  };
}

function verdictOf(
  { fromIndex, endIndex }: VerificationRequest,
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
