// A request that is done once, however often it is asked: what uses its key up in the commit that does the work.

import { type Classification, LIMITS } from '@tallystick/contract';
import type { TenantRecord } from '../../access/tenants.ts';
import type { Call } from '../../call.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Once } from '../log.ts';

export interface KeyTime {
  readonly clock: Clock;
  /** Time that no jump of the wall clock moves: what keys expire by. */
  readonly steadyNowMs: () => number;
}

/**
 * What a new key's time is counted from. A clock that was behind at the start and is right now must not make keys end
 * early after the next start.
 */
export function keyNowMs({ clock, steadyNowMs }: KeyTime): number {
  return Math.max(clock.now(), steadyNowMs());
}

/**
 * What uses the caller's key up; undefined where the request has none. `classification` is the highest of what is sent:
 * others than this caller learn of a repeat only if they may read that.
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
