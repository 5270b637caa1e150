// What a subscription wants to be told about. Both spellings of an event type are understood, and `*` means all.

import { type SubscribedEventType, WEBHOOK_TYPE_OF_EVENT_TYPE } from '@tallystick/contract';
import type { SubscriptionRecord } from './subscription.ts';

const WEBHOOK_TYPES = Object.entries(WEBHOOK_TYPE_OF_EVENT_TYPE) as [SubscribedEventType, string][];

export function subscribedTypes({
  eventTypes,
}: Pick<SubscriptionRecord, 'eventTypes'>): ReadonlySet<SubscribedEventType> {
  const names: ReadonlySet<string> = new Set(eventTypes);
  const isAsked = ([eventType, webhookType]: (typeof WEBHOOK_TYPES)[number]) =>
    names.has('*') || names.has(eventType) || names.has(webhookType);
  return new Set(WEBHOOK_TYPES.filter(isAsked).map(([eventType]) => eventType));
}
