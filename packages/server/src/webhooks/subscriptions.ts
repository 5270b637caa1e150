// Subscriptions of tenants, read from their records, deleted ones too. One that somebody has altered is neither shown nor sent to.

import { createGenuineRecords, type GenuineParts, type GenuineRecords } from '../records/genuine-records.ts';
import { SUBSCRIPTION_KIND, subscriptionIn, type SubscriptionRecord } from './subscription.ts';

export type Subscriptions = GenuineRecords<SubscriptionRecord>;

export function createSubscriptions(parts: GenuineParts): Subscriptions {
  return createGenuineRecords(SUBSCRIPTION_KIND, subscriptionIn, parts);
}
