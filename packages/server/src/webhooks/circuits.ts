// The state of the circuit breakers. The deliverer keeps it with its deliveries, not in the record of the subscription, because it changes
// without a caller. Pausing or resuming starts a new round in the record, and the state of an older round no longer counts. So the one commit
// resets the circuit too, and an attempt that was under way cannot open it again.

import type { Circuit, Subscription, SubscriptionId, TenantId } from '@tallystick/contract';
import { instant } from '../runtime/clock.ts';
import type { SubscriptionRecord } from './subscription.ts';

export interface CircuitRecord {
  /** The subscription's round at that time; undefined: it counts in every round, as failures do that have not opened the circuit. */
  readonly round: number | undefined;
  readonly state: Circuit['state'];
  readonly consecutiveFailures: number;
  readonly openedAtMs: number | undefined;
  /** Of the next test delivery. */
  readonly nextAttemptAtMs: number | undefined;
  /** Until a caller resumes it. */
  readonly isFailed: boolean;
}

export interface Circuits {
  /** One that is missing from the result is closed, without failures. */
  find(
    tenant: TenantId,
    subscriptionIds: readonly SubscriptionId[],
  ): Promise<ReadonlyMap<SubscriptionId, CircuitRecord>>;
}

export interface Standing {
  readonly status: Subscription['status'];
  readonly circuit: Circuit;
}

const CLOSED: Circuit = { state: 'Closed', consecutiveFailures: 0 };

/** The status of a subscription, from its record and its circuit. */
export function standingOf(
  { isActive, round }: Pick<SubscriptionRecord, 'isActive' | 'round'>,
  known: CircuitRecord | undefined,
): Standing {
  const current = known?.round === undefined || known.round === round ? known : undefined;
  if (current?.isFailed === true) return { status: 'Failed', circuit: shown(current) };
  if (!isActive) return { status: 'Paused', circuit: CLOSED };
  if (current === undefined) return { status: 'Active', circuit: CLOSED };
  return { status: current.state === 'Closed' ? 'Active' : 'Paused', circuit: shown(current) };
}

function shown({ state, consecutiveFailures, openedAtMs, nextAttemptAtMs }: CircuitRecord): Circuit {
  return {
    state,
    consecutiveFailures,
    ...(openedAtMs !== undefined && { openedAt: instant(openedAtMs) }),
    ...(nextAttemptAtMs !== undefined && { nextAttemptAt: instant(nextAttemptAtMs) }),
  };
}
