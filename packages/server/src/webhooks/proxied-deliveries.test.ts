// Deliveries through a forward proxy that fails for a while.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Delivery, List, Subscription } from '@tallystick/contract';
import { WITH_PLATFORM_KEY } from '../testing/admin-caller.ts';
import { Consumer } from '../testing/consumer.ts';
import { ForwardProxy } from '../testing/forward-proxy.ts';
import { policedTenant } from '../testing/policed-tenant.ts';
import { startTestApp } from '../testing/test-app.ts';
import { until } from '../testing/until.ts';

test('a proxy that fails costs a delivery no attempt and opens no circuit; it goes out when the proxy is back', async () => {
  await using consumer = await Consumer.start();
  await using proxy = await ForwardProxy.start({ refuses: 403 });
  await using app = await startTestApp({
    ...WITH_PLATFORM_KEY,
    Environment: 'Test',
    Webhooks__AllowPrivateTargets: 'true',
    Webhooks__Proxy: proxy.url('me:hunter2'),
    Webhooks__TimeScale: '0.01',
  });
  const tenant = policedTenant(app, 'proxied');
  const wanted = { name: 'SIEM', url: consumer.url, eventTypes: ['AuditEventReceived'] };
  const made = await tenant.ask<Subscription>('POST', '/webhooks/subscriptions', wanted);
  const path = `/webhooks/subscriptions/${made.subscriptionId}`;
  await tenant.send(...Array.from({ length: 12 }, (_, i) => ({ payload: { i } })));
  // More than open a circuit.
  await until(() => proxy.asked.length >= 12);
  const { status, circuit } = await tenant.ask<Subscription>('GET', path);
  assert.deepEqual([status, circuit.state, circuit.consecutiveFailures], ['Active', 'Closed', 0]);
  assert.equal(consumer.got.length, 0);

  proxy.refuses = undefined;
  await consumer.gotMany(12);
  const acknowledged = async () => {
    const { data } = await tenant.ask<List<Delivery>>('GET', `${path}/deliveries?status=Acknowledged`);
    return data;
  };
  await until(async () => (await acknowledged()).length === 12);
  for (const { attempts } of await acknowledged())
    assert.deepEqual(
      attempts.map(({ attemptNumber, responseStatus }) => [attemptNumber, responseStatus]),
      [[1, 200]],
    );
});
