// Performs a repeated request once. `Idempotency-Key` names a request within its tenant and operation for 24 hours:
// the same request again gets the first answer again, another one under the same key is refused, and so is the same one
// of a caller who may not learn that it is the same (repeats.ts). A key is used up by the commit that does the work, so
// only what succeeded counts. Requests with one key wait for one another here, in this process. Between processes the
// commit decides: a request that loses the race gets the answer of the one that won. Ingestion does not look up the key
// first, since its commit does so anyway: events are performed at once, and their key is looked up only if nothing was
// stored.

import { ok as assert } from 'node:assert/strict';
import { AuditError, LIMITS, type OperationName, type TenantId } from '@tallystick/contract';
import type { Caller } from '../access/caller.ts';
import type { TenantRecord } from '../access/tenants.ts';
import { type Call, type IdempotencyKey, keyReused, type Received } from '../call.ts';
import type { AnyAnswer, UsedIdempotencyKey } from '../operations.ts';
import { fingerprintOf } from '../fingerprints.ts';
import { isRepeat, type RepeatClearance } from '../repeats.ts';
import { KeyedQueue } from '../runtime/turns.ts';
import { isVisible, notVisible } from './visible-text.ts';

/** The key with what was asked under it, and by whom; throws INVALID_HEADER. */
export function idempotencyKeyOf(
  key: string,
  { fingerprinted }: Received,
  caller: Caller | undefined,
): IdempotencyKey {
  if (!isVisible(key, LIMITS.idempotencyKeyLengthMax))
    throw notVisible('Idempotency-Key', key, LIMITS.idempotencyKeyLengthMax);
  assert(caller !== undefined, 'every operation that honours a key needs a permission');
  assert(fingerprinted !== undefined, 'what is asked with a key can be recognised');
  return { key, fingerprint: (tenant) => fingerprintOf(tenant, caller, ...fingerprinted) };
}

/** The stored uses of keys; expired ones do not count. */
export interface UsedIdempotencyKeys {
  find(tenant: TenantId, operation: OperationName, key: string): Promise<UsedIdempotencyKey | undefined>;
  tenant(tenant: TenantId): Promise<TenantRecord | undefined>;
}

/** Answers a call that has a key: again, where it was done before, else by performing it. */
export type AnswerOnce = (
  call: Call,
  received: Received,
  answerAgain: (used: UsedIdempotencyKey) => AnyAnswer | Promise<AnyAnswer>,
  perform: () => Promise<AnyAnswer>,
  commitFindsKey?: boolean,
) => Promise<AnyAnswer>;

/** `clearanceOf`: how far the caller may learn that others have sent the same. */
export function createAnswerOnce(
  usedKeys: UsedIdempotencyKeys,
  clearanceOf: (call: Call) => RepeatClearance,
): AnswerOnce {
  const turns = new KeyedQueue();
  return (call, received, answerAgain, perform, commitFindsKey = false) => {
    const { tenant, operation, once } = call;
    if (tenant === undefined || once === undefined) return perform();
    /** Undefined where it was not done before. */
    const repeat = async (): Promise<AnyAnswer | undefined> => {
      // The request before this one may have made the tenant. One that has not written yet has used no key.
      const tenantRecord = call.tenantRecord ?? (await usedKeys.tenant(tenant));
      if (tenantRecord === undefined) return undefined;
      const used = await usedKeys.find(tenant, operation, once.key);
      if (used === undefined) return undefined;
      const asked = { fingerprint: once.fingerprint(tenantRecord), clearance: clearanceOf(call) };
      if (!isRepeat(used, asked)) throw keyReused();
      return answerAgain(used);
    };
    return turns.take(`${tenant}\n${operation}\n${once.key}`, async () => {
      call.deadline.throwIfPassed();
      // An ambiguous body cannot be compared.
      if (received.violations.length > 0) return perform();
      return (commitFindsKey ? undefined : await repeat()) ?? performOrRepeat(perform, repeat);
    });
  };
}

/**
 * A request that was accepted once may be refused now: by rules that have changed since, because its log takes no
 * more, or because another process has done it since and that is a conflict. It gets its first answer nevertheless.
 */
async function performOrRepeat(
  perform: () => Promise<AnyAnswer>,
  repeat: () => Promise<AnyAnswer | undefined>,
): Promise<AnyAnswer> {
  let refused: AnyAnswer;
  try {
    const answer = await perform();
    // Nothing of a batch was stored.
    if (answer.kind !== 'Rejected') return answer;
    refused = answer;
  } catch (error) {
    const repeated = await repeat().catch((second: unknown) => {
      // If both say that the store cannot be asked, the first also says whether the events may be stored.
      throw isUnavailable(error) && isUnavailable(second) ? error : second;
    });
    if (repeated === undefined) throw error;
    return repeated;
  }
  return (await repeat()) ?? refused;
}

function isUnavailable(error: unknown): boolean {
  return error instanceof AuditError && error.code === 'SERVICE_UNAVAILABLE';
}
