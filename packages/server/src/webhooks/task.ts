// What a delivery is about: the body of its job. It names the event or whatever else is told of, without any content. Content is read when
// it is sent, as the subscription may see it at that moment.

import type {
  ExportId,
  SubscriptionId,
  SystemChange,
  TenantId,
  ThresholdCrossing,
  WebhookId,
  WebhookType,
} from '@tallystick/contract';
import { parseJson } from '@tallystick/evidence';
import type { NewJob } from '../work/jobs.ts';
import type { SubscriptionRecord } from './subscription.ts';
import { webhookIdOf } from './webhook-id.ts';

export type Source =
  /** Of an event: its index in the tenant's sequence. */
  | { readonly of: 'Event'; readonly index: number }
  | { readonly of: 'Violation'; readonly violationId: string }
  /** A version of its record. */
  | { readonly of: 'Export'; readonly exportId: ExportId; readonly version: number }
  /** Stored as it was when it happened. */
  | { readonly of: 'System'; readonly id: string; readonly change: SystemChange }
  /** A level of service that is missed, as it was then. */
  | { readonly of: 'Level'; readonly id: string; readonly crossing: ThresholdCrossing };

export interface Task {
  readonly webhookId: WebhookId;
  readonly webhookType: WebhookType;
  readonly source: Source;
}

/** The kind of job; its lane is the subscription. */
export const DELIVERY = 'Delivery';

export function taskOf(
  tenant: TenantId,
  subscriptionId: SubscriptionId,
  webhookType: WebhookType,
  source: Source,
): Task {
  return {
    webhookId: webhookIdOf(tenant, subscriptionId, webhookType, nameOf(source)),
    webhookType,
    source,
  };
}

export function deliveryJob(
  tenant: TenantId,
  { subscriptionId, ordered }: Pick<SubscriptionRecord, 'subscriptionId' | 'ordered'>,
  task: Task,
  /** `index`: where it belongs in the tenant's sequence. */
  { jobId, index }: { readonly jobId: string; readonly index: number },
): NewJob {
  return {
    tenant,
    jobId,
    kind: DELIVERY,
    lane: subscriptionId,
    uniqueKey: task.webhookId,
    keepsKey: true,
    ...(ordered && { place: index + 1 }),
    body: JSON.stringify(task),
  };
}

/** From the body of such a job. */
export function readTask(body: string): Task {
  return parseJson(body) as Task;
}

function nameOf(source: Source): string {
  switch (source.of) {
    case 'Event':
      return `event ${source.index}`;
    case 'Violation':
      return `violation ${source.violationId}`;
    case 'Export':
      return `export ${source.exportId} ${source.version}`;
    case 'System':
      return `system ${source.id}`;
    case 'Level':
      return `level ${source.id}`;
  }
}
