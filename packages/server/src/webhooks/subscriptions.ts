// Reads the subscriptions of tenants from their records, including deleted ones. An altered one is neither shown nor used.

import { createGenuineRecords, type GenuineParts, type GenuineRecords } from '../records/genuine-records.ts';
import { SUBSCRIPTION_KIND, subscriptionIn, type SubscriptionRecord } from './subscription.ts';

export type Subscriptions = GenuineRecords<SubscriptionRecord>;

export function createSubscriptions(parts: GenuineParts): Subscriptions {
  return createGenuineRecords(SUBSCRIPTION_KIND, subscriptionIn, parts);
}
