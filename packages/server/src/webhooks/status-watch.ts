// Tells subscribers when the state of the service, or of a part of it, changes. If several nodes see the same change in the same minute, it
// is one delivery.

import type { HealthReport, TenantId } from '@tallystick/contract';
import type { RecordReader } from '../records/records.ts';
import { type Clock, instant } from '../runtime/clock.ts';
import { type Loop, startLoop } from '../runtime/loop.ts';
import type { Random } from '../runtime/random.ts';
import type { Telemetry } from '../telemetry.ts';
import type { WorkStore } from '../work/jobs.ts';
import { subscribedTypes } from './event-types.ts';
import type { Circuits } from './circuits.ts';
import type { KnownSubscriptions } from './known-subscriptions.ts';
import { failedAmong } from './lane-circuits.ts';
import { SUBSCRIPTION_KIND } from './subscription.ts';
import { deliveryJob, type Source, taskOf } from './task.ts';

export interface StatusWatchParts {
  readonly report: () => Promise<HealthReport>;
  readonly records: Pick<RecordReader, 'all'>;
  readonly subscriptions: KnownSubscriptions;
  readonly circuits: Circuits;
  readonly work: Pick<WorkStore, 'forTenant'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly nextId: () => string;
  readonly wake: () => void;
  readonly telemetry: Pick<Telemetry, 'error'>;
}

const PACE_MS = 5000;
const BACK_OFF_MS = 1000;
const BACK_OFF_MS_MAX = 60_000;
const MINUTE_MS = 60_000;

type States = ReadonlyMap<string, string>;

export function startStatusWatch(parts: StatusWatchParts): Loop {
  const { clock, random, telemetry } = parts;
  let known: States | undefined;
  return startLoop({
    clock,
    random,
    paceMs: PACE_MS,
    backOffMs: BACK_OFF_MS,
    backOffMsMax: BACK_OFF_MS_MAX,
    async turn() {
      const states = statesIn(await parts.report());
      const changes = known === undefined ? [] : changesBetween(known, states, clock.now());
      if (changes.length > 0) await tell(changes, parts);
      known = states;
      return undefined;
    },
    onFailure: ({ error }) =>
      telemetry.error('subscribers could not be told of the state of the service', error),
    onBroken: (error) => telemetry.error('subscribers are no longer told of the state of the service', error),
  });
}

function statesIn({ status, entries }: HealthReport): States {
  return new Map([
    ['service', status],
    ...Object.entries(entries).map(([name, entry]): [string, string] => [name, entry.status]),
  ]);
}

type Change = Extract<Source, { of: 'System' }>;

function changesBetween(before: States, now: States, nowMs: number): Change[] {
  const changed = [...now].filter(([name, status]) => before.has(name) && before.get(name) !== status);
  return changed.map(([component, status]) => {
    const previousStatus = before.get(component)!;
    const minute = Math.floor(nowMs / MINUTE_MS);
    return {
      of: 'System',
      id: `status ${component} ${previousStatus} ${status} ${minute}`,
      change: {
        kind: 'SystemStatusChanged',
        component,
        previousStatus,
        status,
        occurredAt: instant(nowMs),
      },
    };
  });
}

async function tell(changes: readonly Change[], parts: StatusWatchParts): Promise<void> {
  const { records, telemetry, wake } = parts;
  const tenants = new Set((await records.all(SUBSCRIPTION_KIND)).map(({ owner }) => owner));
  for (const tenant of tenants) {
    try {
      await tellTenant(tenant, changes, parts);
    } catch (error) {
      // If the subscriptions of one tenant cannot be read, go on with the others.
      telemetry.error('subscribers of a tenant could not be told of the state of the service', error, {
        tenant,
      });
    }
  }
  wake();
}

async function tellTenant(
  tenant: TenantId,
  changes: readonly Change[],
  { subscriptions, circuits, work, nextId }: StatusWatchParts,
): Promise<void> {
  const asking = [...(await subscriptions.of(tenant)).values()].filter((each) =>
    subscribedTypes(each).has('SystemStatusChanged'),
  );
  const failed = await failedAmong(circuits, tenant, asking);
  const jobs = asking
    .filter(({ subscriptionId }) => !failed.has(subscriptionId))
    .flatMap((subscription) =>
      changes.map((source) => {
        const task = taskOf(tenant, subscription.subscriptionId, 'system.event', source);
        // It is in no log, so it goes before what is.
        return deliveryJob(tenant, subscription, task, { jobId: nextId(), index: 0 });
      }),
    );
  if (jobs.length > 0) await work.forTenant(tenant).enqueueAll(jobs);
}
