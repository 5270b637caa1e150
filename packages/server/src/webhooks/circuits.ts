// The state of the circuit breakers, which the deliverer keeps with its deliveries: it changes without any caller, so it is no part
// of the record of a subscription. A caller who pauses or resumes one begins a new round in the record, and what is known of an older
// round counts no more: so both change in one commit, and a failure that was under way meanwhile opens no circuit anew.

import type { Circuit, Subscription, SubscriptionId, TenantId } from '@tallystick/contract';
import { instant } from '../runtime/clock.ts';
import type { SubscriptionRecord } from './subscription.ts';

export interface CircuitRecord {
  /** That of the subscription when this was found out; undefined: it counts in any, as failures do that have closed nothing. */
  readonly round: number | undefined;
  readonly state: Circuit['state'];
  readonly consecutiveFailures: number;
  readonly openedAtMs: number | undefined;
  /** Of the next test delivery. */
  readonly nextAttemptAtMs: number | undefined;
  /** Only a caller who resumes it ends this. */
  readonly isFailed: boolean;
}

export interface Circuits {
  /** Of subscriptions of a tenant; one that is missing is closed, without failures. */
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

/** Where a subscription stands, by its record and what the deliverer knows. */
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
