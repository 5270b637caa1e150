// While a circuit is open, one test delivery goes out after each cooldown. The first that is acknowledged closes the circuit; after 24
// failures the subscription has failed. `subscriptions.test` sends the same notification.

import { LIMITS } from '@tallystick/contract';
import { canonicalJson, parseJson } from '@tallystick/evidence';
import { type Clock, instant } from '../runtime/clock.ts';
import type { JobOutcome } from '../work/jobs.ts';
import type { KindOfWork } from '../work/workers.ts';
import type { KnownSubscriptions } from './known-subscriptions.ts';
import { cooldownMs, failedForGood, laneOf, noteOf, PROBE } from './lane-circuits.ts';
import type { Notice, Sender } from './sender.ts';
import type { SubscriptionRecord } from './subscription.ts';
import { webhookIdOf } from './webhook-id.ts';

export interface ProbingParts {
  readonly subscriptions: KnownSubscriptions;
  readonly sender: Sender;
  readonly clock: Pick<Clock, 'now'>;
  readonly timeScale: number;
  readonly wakeDeliverer: () => void;
}

const AT_ONCE = 64;
const LEASE_MS = 60_000;
const GONE = 410;

export function probeWork(parts: ProbingParts): KindOfWork {
  return {
    kind: PROBE,
    atOnce: AT_ONCE,
    perLane: 1,
    leaseMs: LEASE_MS,
    attemptsMax: LIMITS.circuitFailedProbesMax,
    async handle({ tenant, lane, body, jobId, attempts }, { signal }): Promise<JobOutcome> {
      const { round } = parseJson(body) as { round: number };
      const subscription = (await parts.subscriptions.latest(tenant)).get(lane);
      // A caller has paused, resumed or deleted it: gate.ts takes care of that.
      if (subscription === undefined || !subscription.isActive || subscription.round !== round)
        return { status: 'Done' };
      const notice = testNotice(subscription, `${jobId} ${attempts}`, parts.clock);
      const sent = await parts.sender.send(subscription, notice, 1, signal);
      const { isDelivered, isOurs, status, reason } = sent;
      const open = noteOf({ round, state: 'Open' });
      if (isDelivered) {
        parts.wakeDeliverer();
        return { status: 'Done', lanes: [{ ...laneOf(lane), status: 'Opens', ifNote: open }] };
      }
      if (isOurs) return { status: 'PutOff', forMs: cooldownMs(parts) };
      if (status === GONE || attempts >= LIMITS.circuitFailedProbesMax)
        return { status: 'Done', lanes: [failedForGood(subscription, open)] };
      return { status: 'Failed', reason, againInMs: cooldownMs(parts) };
    },
  };
}

/** `source` makes the id, which is new for each test. */
export function testNotice(
  { tenantId, subscriptionId }: SubscriptionRecord,
  source: string,
  clock: Pick<Clock, 'now'>,
): Notice {
  const webhookType = 'system.event';
  const change = {
    kind: 'Test',
    component: 'webhooks',
    previousStatus: 'Healthy',
    status: 'Healthy',
    occurredAt: instant(clock.now()),
  };
  return {
    webhookId: webhookIdOf(tenantId, subscriptionId, webhookType, `test ${source}`),
    webhookType,
    content: { system: canonicalJson(change) },
  };
}
