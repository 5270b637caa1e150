// Idempotency keys of requests that ask for a job and write nothing to the log: they are stored with the job, together with the
// answer that was given, so that every node gives it again.

import { LIMITS, type OperationName, type TenantId } from '@tallystick/contract';
import { type Call, keyReused } from '../call.ts';
import { isRepeat, UNCLASSIFIED } from '../repeats.ts';
import type { UsedKey } from '../streams/log.ts';
import { type KeyTime, keyNowMs } from '../streams/append/once.ts';
import type { JobKey, UsedJobKey, WorkStore } from './jobs.ts';

const OPERATIONS: ReadonlySet<OperationName> = new Set([
  'deadLetters.reprocess',
  'projections.rebuild',
  'streams.verify',
]);

export function keepsKeyWithJob(operation: OperationName): boolean {
  return OPERATIONS.has(operation);
}

/** The idempotency key to store with the job, with the first answer; undefined if the request has none. */
export function jobKeyOf(
  { once, operation, tenantRecord }: Call,
  body: object,
  time: KeyTime,
): JobKey | undefined {
  if (once === undefined || tenantRecord === undefined) return undefined;
  return {
    operation,
    key: once.key,
    fingerprint: once.fingerprint(tenantRecord),
    classification: UNCLASSIFIED,
    expiresAtMs: keyNowMs(time) + LIMITS.idempotencyWindowMs,
    answer: JSON.stringify(body),
  };
}

/** For the gateway: the request that used a key. */
export async function findJobKey(
  work: WorkStore,
  tenant: TenantId,
  operation: OperationName,
  key: string,
  steadyNowMs: number,
): Promise<UsedKey | undefined> {
  const used = await work.forTenant(tenant).usedKey(operation, key, steadyNowMs);
  return used && { ...used, note: used.answer, outcomes: [] };
}

/** The answer to the first request with this key; the store decides which came first. Throws if this is no repeat. */
export function firstAnswer({ once, tenantRecord, caller }: Call, used: UsedJobKey): string {
  const fingerprint = tenantRecord && once?.fingerprint(tenantRecord);
  if (!isRepeat(used, { fingerprint, clearance: caller!.clearance })) throw keyReused();
  return used.answer;
}
