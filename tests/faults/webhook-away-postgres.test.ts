// P10 with a database that is away at the moment when a consumer answers: the result is saved once the database is back, long before the lease
// of the delivery ends, so the consumer gets nothing twice.

import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { Delivery, List, Subscription } from '@tallystick/contract';
import { Consumer } from '../../packages/server/src/testing/consumer.ts';
import { freePort } from '../../packages/server/src/testing/free-port.ts';
import { Relay } from '../../packages/server/src/testing/relay.ts';
import { until } from '../../packages/server/src/testing/until.ts';
import { DELIVERY_LEASE_MS } from '../../packages/server/src/webhooks/deliverer.ts';
import { WINDOW_MIN } from '../../packages/server/src/webhooks/pace.ts';
import { BACKENDS } from './backends.ts';
import { Client, event } from './client.ts';
import { startService } from './running.ts';
import { WEBHOOK_ENV } from './webhooks/delivery-place.ts';

const SUBSCRIPTIONS = '/api/v1/webhooks/subscriptions';
const AWAY_MS = 3000;

test('what a consumer answers while the database is away is saved when it is back', async (t) => {
  await using backend = await BACKENDS.PostgreSQL();
  const url = new URL(backend.start.env['Storage__Url']!);
  const port = Number(url.port);
  await using relay = await Relay.open(port);
  url.port = String(relay.port);
  const env = { ...backend.start.env, ...WEBHOOK_ENV, Storage__Url: String(url) };
  await using consumer = await Consumer.start();
  await using service = await startService({ ...backend.start, env });
  using client = new Client(service.url);
  const ask = async <T>(method: string, path: string, body?: object): Promise<T> => {
    const reply = await client.ask({ method, path, ...(body && { body }) });
    assert.ok(reply.status < 300, `${reply.status} ${JSON.stringify(reply.body)}`);
    return reply.body as T;
  };
  const body = { name: 'SIEM', url: consumer.url, eventTypes: ['AuditEventReceived'], timeoutSeconds: 30 };
  const { subscriptionId } = await ask<Subscription>('POST', SUBSCRIPTIONS, body);
  const held: ServerResponse[] = [];
  consumer.reply = () => (response) => void held.push(response);
  // No more are under way at once before one has succeeded.
  const count = WINDOW_MIN;
  const events = Array.from({ length: count }, (_, i) => event(`held ${i}`));
  await ask('POST', '/api/v1/audit-events/batch', { events });
  await until(() => held.length === count);

  relay.leadTo(await freePort());
  for (const [i, response] of held.entries()) response.writeHead(i === 0 ? 400 : 200).end();
  await pause(AWAY_MS);
  relay.leadTo(port);
  const backAtMs = Date.now();
  consumer.reply = () => 202;
  const acknowledged = async () => {
    const path = `${SUBSCRIPTIONS}/${subscriptionId}/deliveries?status=Acknowledged`;
    const reply = await client.ask({ method: 'GET', path });
    return reply.status === 200 ? (reply.body as List<Delivery>).data : [];
  };
  await until(async () => (await acknowledged()).length === count);
  const tookMs = Date.now() - backAtMs;
  t.diagnostic(`saved ${tookMs} ms after the database was back`);
  assert.ok(tookMs < DELIVERY_LEASE_MS / 3, `${tookMs} ms`);
  // The one that failed was sent again, and no other.
  assert.equal(consumer.got.length, count + 1);
  assert.deepEqual(
    (await acknowledged()).map(({ attempts }) => attempts.length).toSorted((a, b) => a - b),
    [...Array.from({ length: count - 1 }, () => 1), 2],
  );
});
