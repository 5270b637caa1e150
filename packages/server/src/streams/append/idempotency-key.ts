// Makes a request take effect once, however often it is sent: its key is used up in the commit that does the work.

import { type Classification, LIMITS } from '@tallystick/contract';
import type { TenantRecord } from '../../access/tenants.ts';
import type { Call } from '../../call.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Once } from '../log.ts';

export interface IdempotencyTime {
  readonly clock: Clock;
  /** Time that is independent of wall clock jumps; keys expire by it. */
  readonly steadyNowMs: () => number;
}

/**
 * The time from which a new key's window counts. A clock that was behind at the start and is right now must not make
 * keys expire early after the next start.
 */
export function idempotencyNowMs({ clock, steadyNowMs }: IdempotencyTime): number {
  return Math.max(clock.now(), steadyNowMs());
}

/**
 * The key to use up; undefined if the request has none. `classification` is the highest of the drafts: another caller
 * learns of a repeat only if it may read that.
 */
export function onceOf(
  call: Call,
  tenant: TenantRecord,
  nowMs: number,
  classification: Classification,
  note = '',
): Once | undefined {
  if (call.once === undefined) return undefined;
  const { key, fingerprint } = call.once;
  return {
    operation: call.operation,
    key,
    fingerprint: fingerprint(tenant),
    classification,
    expiresAtMs: nowMs + LIMITS.idempotencyWindowMs,
    note,
  };
}
