// A verification as its job stores it: the request, the progress and the result.

import type { StreamId } from '@tallystick/contract';
import { fromHex, parseJson, toHex } from '@tallystick/evidence';
import type { Requested } from '../../work/background-operation.ts';
import type { Job } from '../../work/jobs.ts';
import type { RangeVerdict } from '../tree.ts';

export interface VerificationRequest extends Requested {
  readonly streamId: StreamId;
  readonly fromIndex: number;
  readonly endIndex: number;
  /** The size of the smallest checkpoint that covers the range, in the log that holds it; 0 for an empty range. */
  readonly requiredSize: number;
}

export type Result = { readonly verdict: RangeVerdict } | { readonly failureReason: string };

type ResultText =
  | { readonly verdict: Omit<RangeVerdict, 'rootHash'> & { readonly rootHash: string } }
  | { readonly failureReason: string };

// The functions below read the texts that their counterparts write.

export function requestIn({ body }: Pick<Job, 'body'>): VerificationRequest {
  return parseJson(body) as VerificationRequest;
}

export function progressText(checkedEvents: number): string {
  return JSON.stringify({ checkedEvents });
}

export function progressIn({ progress }: Pick<Job, 'progress'>): number {
  if (progress === undefined) return 0;
  return (parseJson(progress) as { checkedEvents: number }).checkedEvents;
}

export function resultText(result: Result): string {
  const text: ResultText =
    'verdict' in result
      ? { verdict: { ...result.verdict, rootHash: toHex(result.verdict.rootHash) } }
      : result;
  return JSON.stringify(text);
}

export function resultIn(text: string): Result {
  const result = parseJson(text) as ResultText;
  if (!('verdict' in result)) return result;
  return { verdict: { ...result.verdict, rootHash: fromHex(result.verdict.rootHash) } };
}
