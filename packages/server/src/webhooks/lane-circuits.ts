// Circuit breakers on the lanes of deliveries. An open circuit is a closed lane: all nodes know it at once, and waiting deliveries cost
// nothing. The lane's note says why it is closed, and in which round of the subscription. While a circuit is open, a job sends the test
// deliveries; only one node holds it at a time.

import { LIMITS, type SubscriptionId, type TenantId } from '@tallystick/contract';
import { parseJson } from '@tallystick/evidence';
import type { Job, NewJob, WorkStore } from '../work/jobs.ts';
import type { Lane, LaneNews, LaneRef } from '../work/lanes.ts';
import type { CircuitRecord, Circuits } from './circuits.ts';
import type { SubscriptionRecord } from './subscription.ts';
import { DELIVERY } from './task.ts';

export interface ClosedBy {
  readonly round: number;
  /** `Paused`: by a caller. `Open`: after failures. `Failed`: for good, until a caller resumes it. */
  readonly state: 'Paused' | 'Open' | 'Failed';
}

export const PROBE = 'Probe';
export const GATE = 'Gate';
/** Before checking whether the circuit was opened for a round that is over by now. */
const LOOK_AGAIN_MS = 5000;

export function laneOf(subscriptionId: SubscriptionId): LaneRef {
  return { kind: DELIVERY, lane: subscriptionId };
}

export function noteOf({ round, state }: ClosedBy): string {
  return JSON.stringify({ round, state });
}

export function closedBy({ isOpen, note }: Lane): ClosedBy | undefined {
  return isOpen || note === undefined ? undefined : (parseJson(note) as ClosedBy);
}

type Owner = Pick<SubscriptionRecord, 'tenantId' | 'subscriptionId' | 'round'>;

export interface ProbeParts {
  readonly nextId: () => string;
  readonly timeScale: number;
}

/** Reports a failure, and opens the circuit with the tenth in a row. */
export function failed(owner: Owner, parts: ProbeParts): LaneNews {
  const { tenantId: tenant, subscriptionId, round } = owner;
  return {
    ...laneOf(subscriptionId),
    status: 'Fails',
    failuresMax: LIMITS.circuitFailuresMax,
    note: noteOf({ round, state: 'Open' }),
    jobs: [
      probeJob(owner, parts),
      { ...gateJob(subscriptionId, parts.nextId()), tenant, dueInMs: LOOK_AGAIN_MS },
    ],
  };
}

/** Sends nothing more until a caller resumes it. `ifNote`: only if the lane is still closed with this note. */
export function failedForGood({ subscriptionId, round }: Owner, ifNote?: string): LaneNews {
  return { ...laneOf(subscriptionId), status: 'Closes', note: noteOf({ round, state: 'Failed' }), ifNote };
}

export function cooldownMs({ timeScale }: Pick<ProbeParts, 'timeScale'>): number {
  return LIMITS.circuitCooldownMs * timeScale;
}

function probeJob({ tenantId, subscriptionId, round }: Owner, { nextId, timeScale }: ProbeParts): NewJob {
  return {
    tenant: tenantId,
    jobId: nextId(),
    kind: PROBE,
    lane: subscriptionId,
    uniqueKey: probeKey(subscriptionId, round),
    dueInMs: cooldownMs({ timeScale }),
    body: JSON.stringify({ subscriptionId, round }),
  };
}

/** Every change of a subscription causes it: gate.ts. */
export function gateJob(subscriptionId: SubscriptionId, jobId: string): Omit<NewJob, 'tenant'> {
  return { jobId, kind: GATE, body: JSON.stringify({ subscriptionId }) };
}

function probeKey(subscriptionId: SubscriptionId, round: number): string {
  return `${subscriptionId} ${round}`;
}

export function circuitsOnLanes(work: Pick<WorkStore, 'forTenant'>): Circuits {
  return {
    async find(tenant, subscriptionIds) {
      if (subscriptionIds.length === 0) return new Map();
      const jobs = work.forTenant(tenant);
      const lanes = await jobs.lanes(DELIVERY, subscriptionIds);
      const found = await Promise.all(
        subscriptionIds.map(async (id, i): Promise<[SubscriptionId, CircuitRecord]> => {
          const lane = lanes[i]!;
          const by = closedBy(lane);
          const probe =
            by?.state === 'Open' ? await jobs.findUnique(PROBE, probeKey(id, by.round)) : undefined;
          return [id, circuitOf(lane, by, probe)];
        }),
      );
      return new Map(found);
    },
  };
}

function circuitOf(
  { failures, sinceMs }: Lane,
  by: ClosedBy | undefined,
  probe: Job | undefined,
): CircuitRecord {
  const state = by?.state === 'Open' ? (probe?.state === 'Held' ? 'HalfOpen' : 'Open') : 'Closed';
  return {
    round: by?.round,
    state,
    consecutiveFailures: failures,
    openedAtMs: state === 'Closed' ? undefined : sinceMs,
    nextAttemptAtMs: probe === undefined || probe.state === 'Held' ? undefined : probe.wakeAtMs,
    isFailed: by?.state === 'Failed',
  };
}

/** Those that have failed, for which nothing is queued. */
export async function failedAmong(
  circuits: Circuits,
  tenant: TenantId,
  subscriptions: readonly SubscriptionRecord[],
): Promise<ReadonlySet<SubscriptionId>> {
  const known = await circuits.find(
    tenant,
    subscriptions.map(({ subscriptionId }) => subscriptionId),
  );
  const isFailed = ({ subscriptionId: id, round }: SubscriptionRecord) =>
    known.get(id)?.isFailed === true && known.get(id)?.round === round;
  return new Set(subscriptions.filter(isFailed).map(({ subscriptionId }) => subscriptionId));
}
