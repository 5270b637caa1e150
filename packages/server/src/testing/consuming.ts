// A consumer on loopback that is subscribed to a tenant of a real service; for tests.

import assert from 'node:assert/strict';
import type { AuditEvent, Delivery, List, NewSubscription, Subscription } from '@tallystick/contract';
import type { Consumer, Got } from './consumer.ts';
import { type PolicedTenant, policedTenant } from './policed-tenant.ts';
import { SUBSCRIPTIONS } from './subscribing.ts';
import type { TestApp } from './test-app.ts';

export interface Consuming {
  readonly tenant: PolicedTenant;
  readonly subscription: NewSubscription;
  readonly path: string;
  readonly now: () => Promise<Subscription>;
  /** A page of them. */
  readonly deliveries: (query?: string) => Promise<readonly Delivery[]>;
}

/** To all events, unless `more` says otherwise. */
export async function consuming(
  app: TestApp,
  name: string,
  consumer: Pick<Consumer, 'url'>,
  more: object = {},
): Promise<Consuming> {
  const tenant = policedTenant(app, name);
  const body = { name: 'SIEM', url: consumer.url, eventTypes: ['AuditEventReceived'], ...more };
  const subscription = await tenant.ask<NewSubscription>('POST', SUBSCRIPTIONS, body);
  const path = `${SUBSCRIPTIONS}/${subscription.subscriptionId}`;
  return {
    tenant,
    subscription,
    path,
    now: () => tenant.ask<Subscription>('GET', path),
    async deliveries(query = '') {
      return (await tenant.ask<List<Delivery>>('GET', `${path}/deliveries${query}`)).data;
    },
  };
}

export function eventIn({ body }: Got): AuditEvent {
  assert.ok(body.webhookType === 'event.notification');
  return body.event;
}
