// Opens, closes or empties the lane of a subscription, as its record says. It is a job that every change of a subscription causes, so no
// crash can leave a resumed subscription with deliveries that are never sent, or a deleted one with deliveries that are never removed.

import type { TenantId } from '@tallystick/contract';
import { parseJson } from '@tallystick/evidence';
import type { JobOutcome, WorkStore } from '../work/jobs.ts';
import type { KindOfWork } from '../work/workers.ts';
import type { KnownSubscriptions } from './known-subscriptions.ts';
import { closedBy, GATE, laneOf, noteOf, PROBE } from './lane-circuits.ts';
import type { SubscriptionRecord } from './subscription.ts';
import { DELIVERY } from './task.ts';

export interface GateParts {
  readonly subscriptions: KnownSubscriptions;
  readonly work: Pick<WorkStore, 'forTenant'>;
  readonly wakeDeliverer: () => void;
}

const AT_ONCE = 8;
const ATTEMPTS_MAX = 10;
/** Between two portions of removed deliveries, so that other jobs get their turn. */
const AGAIN_MS = 10;

export function gateWork(parts: GateParts): KindOfWork {
  return {
    kind: GATE,
    atOnce: AT_ONCE,
    perLane: AT_ONCE,
    attemptsMax: ATTEMPTS_MAX,
    async handle({ tenant, body }): Promise<JobOutcome> {
      const { subscriptionId } = parseJson(body) as { subscriptionId: string };
      const subscription = (await parts.subscriptions.latest(tenant)).get(subscriptionId);
      if (subscription !== undefined) {
        await settle(subscription, parts);
        return { status: 'Done' };
      }
      const isMore = await remove(tenant, subscriptionId, parts);
      return isMore ? { status: 'PutOff', forMs: AGAIN_MS } : { status: 'Done' };
    },
  };
}

async function settle(
  { tenantId, subscriptionId, isActive, round }: SubscriptionRecord,
  { work, wakeDeliverer }: GateParts,
): Promise<void> {
  const jobs = work.forTenant(tenantId);
  const [lane] = await jobs.lanes(DELIVERY, [subscriptionId]);
  const of = laneOf(subscriptionId);
  if (!isActive) {
    await jobs.changeLane(of, { status: 'Closes', note: noteOf({ round, state: 'Paused' }), ifOpen: true });
    return;
  }
  const by = closedBy(lane!);
  if (by === undefined || by.round === round) return;
  await jobs.changeLane(of, { status: 'Opens', ifNote: noteOf(by) });
  wakeDeliverer();
}

/** True if there is more to remove. */
async function remove(tenant: TenantId, lane: string, { work }: GateParts): Promise<boolean> {
  const jobs = work.forTenant(tenant);
  const kinds = [DELIVERY, PROBE] as const;
  const more = await Promise.all(kinds.map((kind) => jobs.removeLane({ kind, lane })));
  return more.includes(true);
}
