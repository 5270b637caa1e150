// The deliveries that violations cause: stored in one commit with them.

import type { TenantId } from '@tallystick/contract';
import type { Tenants } from '../access/tenants.ts';
import type { NewViolation } from '../alerts/violations.ts';
import { entryOf } from '../followers/entry-of.ts';
import type { StoredEvent } from '../streams/log.ts';
import type { NewJob } from '../work/jobs.ts';
import type { KnownSubscriptions } from './known-subscriptions.ts';
import { jobsFor, type OwedParts, owedForViolation } from './owed.ts';
import { Subscribers } from './subscribers.ts';

export interface AlertJobsParts extends OwedParts {
  readonly subscriptions: KnownSubscriptions;
  readonly tenants: Pick<Tenants, 'find'>;
}

/** `events` include those that the violations are about. */
export async function alertJobs(
  tenant: TenantId,
  violations: readonly NewViolation[],
  events: readonly StoredEvent[],
  { subscriptions, tenants, ...parts }: AlertJobsParts,
): Promise<NewJob[]> {
  if (violations.length === 0) return [];
  const all = await subscriptions.latest(tenant);
  const tenantRecord = await tenants.find(tenant);
  if (all.size === 0 || tenantRecord === undefined) return [];
  const subscribers = new Subscribers(all.values(), tenantRecord);
  const byId = new Map(
    events.flatMap((event) => {
      const entry = entryOf(event);
      return 'eventId' in entry ? [[entry.eventId, event] as const] : [];
    }),
  );
  const owed = violations.flatMap((violation) => {
    const event = byId.get(violation.eventId);
    return event === undefined ? [] : owedForViolation(violation, event, subscribers);
  });
  return jobsFor(tenant, owed, parts);
}
