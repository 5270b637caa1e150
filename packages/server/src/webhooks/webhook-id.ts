// The id of a delivery: a UUID of version 5 made from the tenant, the subscription, the type and the source. So it is the same over retries,
// restarts and nodes, and consumers can recognise repeats.

import { createHash } from 'node:crypto';
import type { SubscriptionId, TenantId, WebhookId, WebhookType } from '@tallystick/contract';

/** Chosen at random, once and for all. */
const NAMESPACE = Buffer.from('5bd3b3a0f9c64d0e8a3b6f0f2f4b7c11', 'hex');

/** `source` names what the delivery is about, within its tenant. */
export function webhookIdOf(
  tenant: TenantId,
  subscriptionId: SubscriptionId,
  webhookType: WebhookType,
  source: string,
): WebhookId {
  const hash = createHash('sha1')
    .update(NAMESPACE)
    .update(JSON.stringify([tenant, subscriptionId, webhookType, source]))
    .digest();
  hash[6] = (hash[6]! & 0x0f) | 0x50;
  hash[8] = (hash[8]! & 0x3f) | 0x80;
  const hex = hash.toString('hex', 0, 16);
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}
