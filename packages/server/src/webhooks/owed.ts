// Which subscriptions are owed a delivery for something that happened, and the jobs for that.

import type { TenantId, WebhookType } from '@tallystick/contract';
import { KINDS, parseJson } from '@tallystick/evidence';
import type { NewViolation } from '../alerts/violations.ts';
import { entryOf } from '../followers/entry-of.ts';
import { instant } from '../runtime/clock.ts';
import type { StoredEvent } from '../streams/log.ts';
import type { NewJob } from '../work/jobs.ts';
import type { Circuits } from './circuits.ts';
import { failedAmong } from './lane-circuits.ts';
import type { Subscribers } from './subscribers.ts';
import type { SubscriptionRecord } from './subscription.ts';
import { deliveryJob, type Source, taskOf } from './task.ts';

export interface Owed {
  readonly subscription: SubscriptionRecord;
  readonly webhookType: WebhookType;
  readonly source: Source;
  /** Its place in the tenant's sequence. */
  readonly index: number;
}

export interface OwedParts {
  readonly circuits: Circuits;
  readonly nextId: () => string;
}

/** Leaves out subscriptions that have failed. */
export async function jobsFor(
  tenant: TenantId,
  owed: readonly Owed[],
  { circuits, nextId }: OwedParts,
): Promise<NewJob[]> {
  if (owed.length === 0) return [];
  const failed = await failedAmong(circuits, tenant, [
    ...new Set(owed.map(({ subscription }) => subscription)),
  ]);
  return owed
    .filter(({ subscription }) => !failed.has(subscription.subscriptionId))
    .map((each) => jobOf(tenant, each, nextId()));
}

export function jobOf(
  tenant: TenantId,
  { subscription, webhookType, source, index }: Owed,
  jobId: string,
): NewJob {
  const task = taskOf(tenant, subscription.subscriptionId, webhookType, source);
  return deliveryJob(tenant, subscription, task, { jobId, index });
}

/** For an entry of the log; for an altered one nothing, since nobody may see it. */
export function owedFor(
  stored: StoredEvent,
  subscribers: Subscribers,
  onAltered: (fault: string) => void = () => {},
): Owed[] {
  const { index } = stored;
  const entry = entryOf(stored);
  if ('fault' in entry) {
    onAltered(entry.fault);
    return [];
  }
  if (entry.kind === KINDS.event) {
    const told = { webhookType: 'event.notification', source: { of: 'Event', index }, index } as const;
    return subscribers
      .matching('AuditEventReceived', stored)
      .map((subscription) => ({ subscription, ...told }));
  }
  if (entry.kind !== KINDS.streamSeal) return [];
  const source = sealSource(stored, instant(entry.receivedAtMs));
  if (source === undefined) return [];
  const told = { webhookType: 'system.event', source, index } as const;
  return subscribers.of('EventStreamSealed').map((subscription) => ({ subscription, ...told }));
}

/** `stored`: the event behind it. */
export function owedForViolation(
  { kind, violationId }: Pick<NewViolation, 'kind' | 'violationId'>,
  stored: StoredEvent,
  subscribers: Subscribers,
): Owed[] {
  const source = { of: 'Violation', violationId } as const;
  const { index } = stored;
  if (kind === 'Threshold')
    return subscribers
      .of('ThresholdExceeded')
      .map((subscription) => ({ subscription, webhookType: 'threshold.exceeded', source, index }));
  return subscribers
    .matching('PolicyViolated', stored)
    .map((subscription) => ({ subscription, webhookType: 'policy.violated', source, index }));
}

function sealSource({ content, index }: StoredEvent, occurredAt: string): Source | undefined {
  if (content === undefined || !('texts' in content)) return undefined;
  const { payload } = parseJson(content.texts[1]) as { payload: { streamId: string } };
  const change = {
    kind: 'EventStreamSealed',
    component: 'streams',
    previousStatus: 'Open',
    status: 'Sealed',
    streamId: payload.streamId,
    occurredAt,
  } as const;
  return { of: 'System', id: `seal ${index}`, change };
}
