// Deliveries through a forward proxy that fails for a while.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Consumer } from '../testing/consumer.ts';
import { consuming } from '../testing/consuming.ts';
import { DELIVERING } from '../testing/delivering-app.ts';
import { ForwardProxy } from '../testing/forward-proxy.ts';
import { startTestApp } from '../testing/test-app.ts';
import { until } from '../testing/until.ts';

test('a proxy that fails costs a delivery no attempt and opens no circuit; it goes out when the proxy is back', async () => {
  await using consumer = await Consumer.start();
  await using proxy = await ForwardProxy.start({ refuses: 403 });
  await using app = await startTestApp({
    ...DELIVERING,
    Webhooks__Proxy: proxy.url('me:hunter2'),
    Webhooks__TimeScale: '0.01',
  });
  const { tenant, now, deliveries } = await consuming(app, 'proxied', consumer);
  await tenant.send(...Array.from({ length: 12 }, (_, i) => ({ payload: { i } })));
  // More than open a circuit.
  await until(() => proxy.asked.length >= 12);
  const { status, circuit } = await now();
  assert.deepEqual([status, circuit.state, circuit.consecutiveFailures], ['Active', 'Closed', 0]);
  assert.equal(consumer.got.length, 0);

  proxy.refuses = undefined;
  await consumer.gotMany(12);
  const acknowledged = () => deliveries('?status=Acknowledged');
  await until(async () => (await acknowledged()).length === 12);
  for (const { attempts } of await acknowledged())
    assert.deepEqual(
      attempts.map(({ attemptNumber, responseStatus }) => [attemptNumber, responseStatus]),
      [[1, 200]],
    );
});
