// How subscriptions fail and recover, and how long deliveries are kept: through the whole service, where a week takes three seconds.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DeadLetter, List } from '@tallystick/contract';
import { Consumer } from '../testing/consumer.ts';
import { consuming, eventIn } from '../testing/consuming.ts';
import { DELIVERING, startDelivering } from '../testing/delivering-app.ts';
import { policedTenant } from '../testing/policed-tenant.ts';
import { until } from '../testing/until.ts';

const app = startDelivering({ ...DELIVERING, Webhooks__TimeScale: '0.000005' });

const letters = async (tenant: string) =>
  (await policedTenant(app, tenant).ask<List<DeadLetter>>('GET', '/admin/dead-letter-queue?source=Webhook'))
    .data;

test('a circuit whose test delivery is out is half open and shown as paused; 24 that fail end it for good', async () => {
  await using consumer = await Consumer.start();
  const { tenant, path, now } = await consuming(app, 'probed', consumer);
  const isTest = (got: Consumer['got'][number]) => got.body.webhookType === 'system.event';
  let release: (() => void) | undefined;
  let isHolding = true;
  consumer.reply = (got) =>
    isTest(got) && isHolding ? (response) => (release = () => response.writeHead(500).end()) : 500;
  await tenant.send({});
  await until(() => release !== undefined);
  const halfOpen = await now();
  assert.deepEqual([halfOpen.status, halfOpen.circuit.state], ['Paused', 'HalfOpen']);
  assert.ok(halfOpen.circuit.consecutiveFailures >= 10);
  isHolding = false;
  release!();
  await until(async () => (await now()).status === 'Failed');
  assert.equal(consumer.got.filter(isTest).length, 24);
  assert.equal(consumer.got.find(isTest)?.headers['x-audit-attempt'], '1');
  // Nothing else leaves it.
  consumer.reply = () => 200;
  assert.equal((await tenant.ask<{ status: string }>('POST', `${path}/pause`)).status, 'Failed');
  assert.equal((await tenant.ask<{ status: string }>('PATCH', path, { name: 'x' })).status, 'Failed');
  assert.equal((await tenant.ask<{ status: string }>('PATCH', path, { active: false })).status, 'Failed');
  const count = consumer.got.length;
  await tenant.ask('POST', `${path}/test`);
  assert.equal((await now()).status, 'Failed', 'a test says nothing of it');
  await tenant.send({});
  assert.equal(consumer.got.length, count + 1);
});

test('a PUT with active: true leaves Failed, and what came meanwhile is not sent', async () => {
  await using consumer = await Consumer.start();
  const { tenant, path, now, deliveries } = await consuming(app, 'put-back', consumer);
  consumer.reply = () => 410;
  await tenant.send({});
  await until(async () => (await now()).status === 'Failed');
  const queued = (await deliveries()).length;
  const [missed] = await tenant.send({});
  await using witness = await Consumer.start();
  await consuming(app, 'put-back', witness, { name: 'witness' });
  await tenant.send({});
  await witness.gotMany(1);
  assert.equal((await deliveries()).length, queued, 'nothing is queued for one that has failed');
  consumer.reply = () => 200;
  const body = { name: 'SIEM', url: consumer.url, eventTypes: ['AuditEventReceived'], active: true };
  const back = await tenant.ask<{ status: string; circuit: object }>('PUT', path, body);
  assert.deepEqual([back.status, back.circuit], ['Active', { state: 'Closed', consecutiveFailures: 0 }]);
  const [next] = await tenant.send({});
  await until(() => consumer.got.some((got) => eventIn(got).eventId === next));
  assert.ok(!consumer.got.some((got) => eventIn(got).eventId === missed));
});

test('a test delivery that fails counts for no circuit, and is not repeated', async () => {
  await using consumer = await Consumer.start();
  const { tenant, path, now, deliveries } = await consuming(app, 'uncounted', consumer);
  consumer.reply = () => 500;
  for (let i = 0; i < 12; i++) await tenant.ask('POST', `${path}/test`);
  assert.deepEqual([(await now()).status, (await now()).circuit.consecutiveFailures], ['Active', 0]);
  assert.equal(consumer.got.length, 12);
  assert.equal(new Set(consumer.got.map(({ body }) => body.webhookId)).size, 12);
  assert.equal((await deliveries()).length, 0);
});

test('what waits for a paused subscription becomes a dead letter after seven days, unused attempts and all', async () => {
  await using consumer = await Consumer.start();
  const { tenant, path, deliveries } = await consuming(app, 'waited', consumer);
  await tenant.ask('POST', `${path}/pause`);
  await tenant.send({});
  await until(async () => (await deliveries('?status=Queued')).length === 1);
  await until(async () => (await letters('waited')).length === 1);
  const [letter] = await letters('waited');
  assert.deepEqual([letter?.attempts, consumer.got.length], [0, 0]);
  assert.match(letter!.reason, /waited for longer/);
});

test('a dead letter is held for seven days and is gone afterwards', async () => {
  await using consumer = await Consumer.start();
  const { tenant, deliveries } = await consuming(app, 'expired', consumer, { retryClientErrors: false });
  consumer.reply = () => 400;
  await tenant.send({});
  await until(async () => (await letters('expired')).length === 1);
  const [letter] = await letters('expired');
  assert.equal(Date.parse(letter!.expiresAt) - Date.parse(letter!.lastFailedAt), 3024);
  const shownAtMs: number[] = [];
  await until(async () => {
    const isThere = (await letters('expired')).length === 1;
    if (isThere) shownAtMs.push(Date.now());
    return !isThere;
  });
  assert.ok(shownAtMs.at(-1)! < Date.parse(letter!.expiresAt) + 500, 'none is shown that is over');
  assert.equal((await deliveries('?status=DeadLettered')).length, 0);
  const reprocess = tenant.ask('POST', `/admin/dead-letter-queue/${letter!.messageId}/reprocess`);
  await assert.rejects(reprocess, /404/);
  const { count } = await tenant.ask<{ count: number }>('POST', '/admin/dead-letter-queue/reprocess');
  assert.equal(count, 0);
});
