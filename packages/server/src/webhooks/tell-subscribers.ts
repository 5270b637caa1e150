// Tells the subscribers of all tenants of something that is in no log. What has the same id is one delivery, however many nodes tell of
// it, and however often. So a caller that fails here tells all of it again, for as long as `TRIED_FOR_MS`.

import type { SubscribedEventType, TenantId, WebhookType } from '@tallystick/contract';
import type { RecordReader } from '../records/records.ts';
import type { Telemetry } from '../telemetry.ts';
import type { WorkStore } from '../work/jobs.ts';
import type { Circuits } from './circuits.ts';
import { subscribedTypes } from './event-types.ts';
import type { KnownSubscriptions } from './known-subscriptions.ts';
import { failedAmong } from './lane-circuits.ts';
import { SUBSCRIPTION_KIND } from './subscription.ts';
import { deliveryJob, type Source, taskOf } from './task.ts';

export interface TellParts {
  readonly records: Pick<RecordReader, 'all'>;
  readonly subscriptions: KnownSubscriptions;
  readonly circuits: Circuits;
  readonly work: Pick<WorkStore, 'forTenant'>;
  readonly nextId: () => string;
  readonly wake: () => void;
  readonly telemetry: Pick<Telemetry, 'error'>;
}

export interface ToldToAll {
  /** Those who ask for it are told. */
  readonly eventType: SubscribedEventType;
  readonly webhookType: WebhookType;
  readonly source: Source;
}

/** Of a tenant whose subscriptions were altered, none can be read until somebody sees to it. */
export const TRIED_FOR_MS = 600_000;

/** Tells every tenant that it can, and then throws if there is one that it could not tell. */
export async function tellSubscribers(
  toldTo: (tenant: TenantId) => readonly ToldToAll[],
  parts: TellParts,
): Promise<void> {
  const { records, telemetry, wake } = parts;
  const tenants = new Set((await records.all(SUBSCRIPTION_KIND)).map(({ owner }) => owner));
  let failed = 0;
  for (const tenant of tenants) {
    try {
      await tellTenant(tenant, toldTo(tenant), parts);
    } catch (error) {
      failed += 1;
      telemetry.error('subscribers of a tenant could not be told of the state of the service', error, {
        tenant,
      });
    }
  }
  wake();
  if (failed > 0)
    throw new Error(`the subscribers of ${failed} of ${tenants.size} tenants could not be told`);
}

async function tellTenant(
  tenant: TenantId,
  told: readonly ToldToAll[],
  { subscriptions, circuits, work, nextId }: TellParts,
): Promise<void> {
  const asking = [...(await subscriptions.of(tenant)).values()].map((subscription) => ({
    subscription,
    asked: told.filter(({ eventType }) => subscribedTypes(subscription).has(eventType)),
  }));
  const concerned = asking.filter(({ asked }) => asked.length > 0);
  const failed = await failedAmong(
    circuits,
    tenant,
    concerned.map(({ subscription }) => subscription),
  );
  const jobs = concerned
    .filter(({ subscription }) => !failed.has(subscription.subscriptionId))
    .flatMap(({ subscription, asked }) =>
      asked.map(({ webhookType, source }) => {
        const task = taskOf(tenant, subscription.subscriptionId, webhookType, source);
        // It is in no log, so it goes before what is.
        return deliveryJob(tenant, subscription, task, { jobId: nextId(), index: 0 });
      }),
    );
  if (jobs.length > 0) await work.forTenant(tenant).enqueueAll(jobs);
}
