// The deliveries that the end of an export causes.

import type { WorkStore } from '../work/jobs.ts';
import type { ExportRecord } from '../exports/export.ts';
import type { KnownSubscriptions } from './known-subscriptions.ts';
import { jobsFor, type OwedParts } from './owed.ts';
import { subscribedTypes } from './event-types.ts';

export interface ExportJobsParts extends OwedParts {
  readonly subscriptions: KnownSubscriptions;
  readonly work: Pick<WorkStore, 'forTenant'>;
  readonly wake: () => void;
}

/** Calling it again for the same export makes no second delivery. */
export async function tellOfExport(
  { tenantId, exportId, version, state }: ExportRecord,
  { subscriptions, work, wake, ...parts }: ExportJobsParts,
): Promise<void> {
  const eventType = state === 'Completed' ? 'ExportCompleted' : 'ExportFailed';
  const webhookType = state === 'Completed' ? 'export.completed' : 'export.failed';
  const asking = [...(await subscriptions.latest(tenantId)).values()].filter((each) =>
    subscribedTypes(each).has(eventType),
  );
  const source = { of: 'Export', exportId, version } as const;
  // An export has no place among the events, so it goes before those that wait.
  const owed = asking.map((subscription) => ({ subscription, webhookType, source, index: 0 }) as const);
  const jobs = await jobsFor(tenantId, owed, parts);
  if (jobs.length === 0) return;
  await work.forTenant(tenantId).enqueueAll(jobs);
  wake();
}
