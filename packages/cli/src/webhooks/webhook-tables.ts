// Subscriptions and deliveries as tables for people.

import type { Delivery, DeliveryAttempt, NewSubscription, Subscription } from '@tallystick/contract';
import type { Columns } from '../output/table.ts';

export const SUBSCRIPTION_COLUMNS: Columns<Subscription> = {
  NAME: ({ name }) => name,
  STATUS: ({ status }) => status,
  CIRCUIT: ({ circuit: { state } }) => state,
  EVENTS: ({ eventTypes }) => eventTypes.join(','),
  URL: ({ url }) => url,
  'SUBSCRIPTION ID': ({ subscriptionId }) => subscriptionId,
};

export const DELIVERY_COLUMNS: Columns<Delivery> = {
  'WEBHOOK ID': ({ webhookId }) => webhookId,
  TYPE: ({ webhookType }) => webhookType,
  STATUS: ({ status }) => status,
  ATTEMPTS: ({ attemptNumber }) => String(attemptNumber),
  'LAST ANSWER': ({ attempts }) => (attempts.length === 0 ? undefined : answerOf(attempts.at(-1)!)),
  'LAST ATTEMPT': ({ attempts }) => attempts.at(-1)?.at,
  'NEXT ATTEMPT': ({ nextAttemptAt }) => nextAttemptAt,
};

/** What the consumer said, or why it said nothing. */
export function answerOf({ responseStatus, error }: DeliveryAttempt): string {
  return responseStatus?.toString() ?? error ?? 'none';
}

/** One subscription, a line for each member that people ask for. */
export function subscriptionRows(
  subscription: NewSubscription,
): readonly (readonly [title: string, value: string])[] {
  const { name, subscriptionId, url, eventTypes, filters, status, clearance, secret } = subscription;
  return [
    ['name', name],
    ['subscription id', subscriptionId],
    ['url', url],
    ['events', eventTypes.join(', ')],
    ['filters', JSON.stringify(filters ?? {})],
    ['clearance', clearance],
    ['status', status],
    ...(secret === undefined ? [] : [['secret', `${secret}  (it is not shown again)`] as const]),
  ];
}
