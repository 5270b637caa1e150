// Deliveries through the whole service, to consumers over real connections.

import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import type {
  BackgroundOperation,
  DeadLetter,
  Delivery,
  List,
  MetricsReport,
  Recovery,
  RotatedSecret,
  Subscription,
  TestDelivery,
} from '@tallystick/contract';
import { canonicalJson } from '@tallystick/evidence';
import { Consumer } from '../testing/consumer.ts';
import { type Consuming, consuming, eventIn } from '../testing/consuming.ts';
import { QUICK, startDelivering } from '../testing/delivering-app.ts';
import { type PolicedTenant, policedTenant } from '../testing/policed-tenant.ts';
import { until } from '../testing/until.ts';

const app = startDelivering(QUICK);

const subscribed = (name: string, consumer: Consumer, more: object = {}): Promise<Consuming> =>
  consuming(app, name, consumer, more);

const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text);

test('an event is sent with both signatures and the headers of Standard Webhooks, and is acknowledged', async () => {
  await using consumer = await Consumer.start();
  const { tenant, subscription, deliveries } = await subscribed('signed', consumer, {
    headers: { 'X-Team': 'blue', Authorization: 'Bearer token' },
  });
  const [eventId] = await tenant.send({ payload: { amount: 12.5, note: 'Grüße' }, context: { ip: '::1' } });
  const [got] = await consumer.gotMany(1);
  const { headers, text, body } = got!;
  assert.equal(eventIn(got!).eventId, eventId);
  assert.deepEqual(eventIn(got!).payload, { amount: 12.5, note: 'Grüße' });
  const { secret } = subscription;
  assert.equal(headers['x-audit-signature'], `sha256=${hmac(secret!, text).digest('hex')}`);
  const { signature, ...unsigned } = body;
  assert.equal(signature, `sha256=${hmac(secret!, canonicalJson(unsigned)).digest('hex')}`);
  const signed = `${headers['webhook-id'] as string}.${headers['webhook-timestamp'] as string}.${text}`;
  const key = Buffer.from(secret!.slice('whsec_'.length), 'base64');
  assert.equal(headers['webhook-signature'], `v1,${hmac(key, signed).digest('base64')}`);
  assert.equal(headers['webhook-id'], body.webhookId);
  assert.match(body.webhookId, /^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  assert.deepEqual(
    [headers['x-audit-webhook-type'], headers['x-audit-attempt'], headers['user-agent']],
    ['event.notification', '1', 'Tallystick-Webhooks/1'],
  );
  assert.deepEqual([headers['x-team'], headers.authorization], ['blue', 'Bearer token']);
  assert.equal(headers['content-type'], 'application/json');
  assert.equal(headers['x-audit-timestamp'], body.timestamp);
  assert.deepEqual(body.subscription, {
    subscriptionId: subscription.subscriptionId,
    subscriptionName: 'SIEM',
  });
  await until(async () => (await deliveries())[0]?.status === 'Acknowledged');
  const [delivery] = await deliveries();
  const [attempt] = delivery!.attempts;
  assert.deepEqual([delivery!.webhookId, delivery!.attemptNumber], [body.webhookId, 1]);
  assert.deepEqual([attempt!.responseStatus, attempt!.responseBody], [200, 'ok']);
  // With a signature, guesses of the body can be checked.
  const { requestHeaders } = attempt!;
  for (const name of ['X-Audit-Signature', 'webhook-signature'])
    assert.equal(requestHeaders?.[name], '[REDACTED]');
  assert.equal(requestHeaders?.['Authorization'], '[REDACTED]');
  assert.ok(attempt!.timings?.firstByteMs !== undefined && attempt!.latencyMs > 0);
  assert.equal((await deliveries('?status=Queued')).length, 0);
});

test('only what the filters match, and what came after the subscription, is sent', async () => {
  await using consumer = await Consumer.start();
  const tenant = policedTenant(app, 'filtered');
  await tenant.send({ payload: { amount: 500 } });
  const { subscription } = await subscribed('filtered', consumer, {
    filters: { 'payload.amount': { gt: 100 }, 'actor.userId': 'zoe' },
  });
  assert.deepEqual(subscription.circuit, { state: 'Closed', consecutiveFailures: 0 });
  const zoe = { actor: { actorType: 'User', userId: 'zoe', userName: 'Zoe' } };
  await tenant.send({ payload: { amount: 500 } }, { ...zoe, payload: { amount: 5 } });
  const [wanted] = await tenant.send({ ...zoe, payload: { amount: 101 } });
  const [got] = await consumer.gotMany(1);
  assert.equal(eventIn(got!).eventId, wanted);
  const [next] = await tenant.send({ ...zoe, payload: { amount: 102 } });
  await consumer.gotMany(2);
  assert.equal(eventIn(consumer.got[1]!).eventId, next);
});

test('a consumer that fails is asked again with the same id, and after ten attempts it is a dead letter', async () => {
  await using consumer = await Consumer.start();
  const { tenant, path, deliveries } = await subscribed('failing', consumer, {
    retry: { strategy: 'Exponential', initialDelay: 'PT1S', maxDelay: 'PT2S' },
  });
  let failing = true;
  consumer.reply = () => (failing ? 500 : 204);
  await tenant.send({});
  await until(async () => (await deliveries())[0]?.status === 'DeadLettered' || (await isOpen(tenant, path)));
  // The tenth failure opens the circuit as well.
  await until(async () => (await deliveries('?status=DeadLettered')).length === 1);
  const [delivery] = await deliveries();
  assert.deepEqual(
    delivery!.attempts.map(({ attemptNumber, responseStatus }) => [attemptNumber, responseStatus]),
    Array.from({ length: 10 }, (_, i) => [i + 1, 500]),
  );
  const sent = consumer.got.filter(({ body }) => body.webhookType === 'event.notification');
  assert.equal(new Set(sent.map(({ body }) => body.webhookId)).size, 1);
  assert.deepEqual(
    sent.map(({ headers }) => headers['x-audit-attempt']),
    Array.from({ length: 10 }, (_, i) => String(i + 1)),
  );
  const letters = await tenant.ask<List<DeadLetter>>('GET', '/admin/dead-letter-queue?source=Webhook');
  const [letter] = letters.data;
  assert.deepEqual(
    [letter?.source, letter?.webhookId, letter?.attempts, letter?.reason],
    ['Webhook', delivery!.webhookId, 10, 'the consumer answered 500'],
  );
  const { indicators, metrics } = await tenant.ask<MetricsReport>('GET', '/admin/metrics');
  const samplesOf = (of: string) => metrics.find((metric) => metric.name === of)!.samples;
  const attempts = samplesOf('tallystick_delivery_attempts_total').find(
    ({ labels }) => labels['outcome'] === 'ServerError',
  );
  // The platform's key is told of all tenants.
  assert.ok(attempts!.value >= 10 && indicators.deadLetters >= 1);
  assert.ok(samplesOf('tallystick_circuits_open').length === 1);
  failing = false;
  const ask = { source: 'Webhook', subscriptionId: letter!.subscriptionId };
  const { count } = await tenant.ask<{ count: number }>('POST', '/admin/dead-letter-queue/reprocess', ask);
  assert.equal(count, 1);
  await tenant.ask('POST', `${path}/resume`);
  await until(async () => (await deliveries())[0]?.status === 'Acknowledged');
  const last = consumer.got.at(-1)!;
  assert.deepEqual([last.body.webhookId, last.headers['x-audit-attempt']], [delivery!.webhookId, '1']);
});

async function isOpen(tenant: PolicedTenant, path: string): Promise<boolean> {
  return (await tenant.ask<Subscription>('GET', path)).circuit.state !== 'Closed';
}

test('ten failures open the circuit; a test delivery that arrives closes it, and what waited is sent', async () => {
  await using consumer = await Consumer.start();
  const { tenant, now, deliveries } = await subscribed('circuit', consumer);
  let failing = true;
  consumer.reply = () => (failing ? 503 : 200);
  await tenant.send(...Array.from({ length: 30 }, () => ({})));
  await until(async () => (await now()).status === 'Paused');
  const { circuit } = await now();
  assert.ok(circuit.consecutiveFailures >= 10);
  assert.ok(circuit.openedAt !== undefined);
  failing = false;
  await until(async () => (await now()).status === 'Active');
  assert.deepEqual((await now()).circuit, { state: 'Closed', consecutiveFailures: 0 });
  await until(async () => (await deliveries('?status=Acknowledged')).length === 30);
  const kinds = consumer.got.flatMap(({ body }) => ('system' in body ? [body.system.kind] : []));
  assert.ok(kinds.includes('Test'));
});

test('410 ends it until somebody resumes it: nothing is queued meanwhile', async () => {
  await using consumer = await Consumer.start();
  const { tenant, path, now, deliveries } = await subscribed('gone', consumer);
  consumer.reply = () => 410;
  await tenant.send({});
  await until(async () => (await now()).status === 'Failed');
  assert.equal((await deliveries())[0]?.status, 'DeadLettered');
  await tenant.send({});
  consumer.reply = () => 200;
  const resumed = await tenant.ask<Subscription>('POST', `${path}/resume`);
  assert.equal(resumed.status, 'Active');
  const [eventId] = await tenant.send({});
  await until(() => consumer.got.some((got) => eventIn(got).eventId === eventId));
});

test('while it is paused deliveries wait, and after it is deleted nothing is sent', async () => {
  await using consumer = await Consumer.start();
  const { tenant, path, now, deliveries } = await subscribed('paused', consumer);
  await tenant.ask('POST', `${path}/pause`);
  assert.equal((await now()).status, 'Paused');
  const [eventId] = await tenant.send({});
  await until(async () => (await deliveries('?status=Queued')).length === 1);
  assert.equal(consumer.got.length, 0);
  await tenant.ask('POST', `${path}/resume`);
  const [got] = await consumer.gotMany(1);
  assert.equal(eventIn(got!).eventId, eventId);
  await tenant.ask('POST', `${path}/pause`);
  await tenant.send({});
  await until(async () => (await deliveries('?status=Queued')).length === 1);
  await tenant.ask('DELETE', path);
  await tenant.send({});
  await using witness = await Consumer.start();
  await subscribed('paused', witness);
  await tenant.send({});
  await witness.gotMany(1);
  assert.equal(consumer.got.length, 1);
});

test('a test delivery goes out at once, also while paused, and says what came of it', async () => {
  await using consumer = await Consumer.start();
  const { tenant, path } = await subscribed('tested', consumer, { active: false });
  const told = await tenant.ask<TestDelivery>('POST', `${path}/test`);
  assert.deepEqual([told.delivered, told.attempt.responseStatus], [true, 200]);
  assert.equal(told.attempt.responseBody, 'ok');
  assert.equal(consumer.got[0]?.body.webhookId, told.webhookId);
  consumer.reply = () => 302;
  const refused = await tenant.ask<TestDelivery>('POST', `${path}/test`);
  assert.deepEqual([refused.delivered, refused.attempt.fault], [false, 'Status']);
});

test('what was not acknowledged is recovered from the log, also from before the subscription', async () => {
  await using consumer = await Consumer.start();
  const tenant = policedTenant(app, 'recovered');
  const since = new Date(Date.now() - 60_000).toISOString();
  const before = await tenant.send({}, {}, {});
  const { path, deliveries } = await subscribed('recovered', consumer);
  const [after] = await tenant.send({});
  await consumer.gotMany(1);
  await until(async () => (await deliveries('?status=Acknowledged')).length === 1);
  const { operationId } = await tenant.ask<Recovery>('POST', `${path}/recover`, { since });
  await consumer.gotMany(4);
  const operation = () => tenant.ask<BackgroundOperation>('GET', `/admin/operations/${operationId}`);
  await until(async () => (await operation()).status === 'Completed');
  assert.equal((await operation()).queuedDeliveries, 3);
  const ids = consumer.got.map((got) => eventIn(got).eventId);
  assert.deepEqual(new Set(ids), new Set([...before, after]));
  assert.equal(ids.length, 4);
});

test('redeliver sends it again under the same id, from its first attempt', async () => {
  await using consumer = await Consumer.start();
  const { tenant, path, deliveries } = await subscribed('again', consumer);
  await tenant.send({});
  await until(async () => (await deliveries('?status=Acknowledged')).length === 1);
  const { webhookId } = consumer.got[0]!.body;
  const told = await tenant.ask<Delivery>('POST', `${path}/deliveries/${webhookId}/redeliver`);
  assert.deepEqual([told.status, told.attemptNumber], ['Queued', 0]);
  await consumer.gotMany(2);
  assert.equal(consumer.got[1]!.body.webhookId, webhookId);
  await until(async () => (await deliveries())[0]?.attempts.length === 2);
});

test('after a rotation both secrets sign, until the old one ends', async () => {
  await using consumer = await Consumer.start();
  const { tenant, path, subscription } = await subscribed('rotated', consumer);
  const { secret } = await tenant.ask<RotatedSecret>('POST', `${path}/rotate-secret`, { gracePeriod: 'P1D' });
  await tenant.send({});
  const [got] = await consumer.gotMany(1);
  const { headers, text } = got!;
  assert.equal(headers['x-audit-signature'], `sha256=${hmac(secret!, text).digest('hex')}`);
  const previous = `sha256=${hmac(subscription.secret!, text).digest('hex')}`;
  assert.equal(headers['x-audit-signature-previous'], previous);
  assert.equal(String(headers['webhook-signature']).split(' ').length, 2);
});

test('violations, thresholds and sealed streams are told of', async () => {
  await using consumer = await Consumer.start();
  const { tenant } = await subscribed('alerts', consumer, {
    eventTypes: ['*'],
    filters: { actions: ['Read.Invoice'] },
  });
  await tenant.put('Alert', [
    { conditions: { action: 'Delete.Invoice' }, effect: { severity: 'High', violationType: 'Deletion' } },
  ]);
  await tenant.put(
    'Alert',
    [
      {
        conditions: { action: 'Export.Invoices' },
        effect: { severity: 'High', violationType: 'Mass', threshold: { count: 2, window: 'PT1H' } },
      },
    ],
    'Mass',
  );
  await tenant.send(
    { action: 'Delete.Invoice' },
    { action: 'Export.Invoices' },
    { action: 'Export.Invoices' },
  );
  // The filter matches no event behind the violation, and the other types ignore it.
  const [got] = await consumer.gotMany(1);
  assert.ok(got!.body.webhookType === 'threshold.exceeded');
  assert.deepEqual([got!.body.threshold.observedValue, got!.body.threshold.threshold], [2, 2]);
  await using other = await Consumer.start();
  await subscribed('alerts', other, { eventTypes: ['PolicyViolated', 'EventStreamSealed'] });
  await tenant.send({ action: 'Delete.Invoice' });
  const [violated] = await other.gotMany(1);
  assert.ok(violated!.body.webhookType === 'policy.violated');
  assert.equal(violated!.body.violation.violationType, 'Deletion');
});

test('in order: one at a time, and one that fails holds the others back', async () => {
  await using consumer = await Consumer.start();
  const { tenant } = await subscribed('ordered', consumer, {
    ordered: true,
    retry: { strategy: 'Exponential', initialDelay: 'PT30S', maxDelay: 'PT60S' },
  });
  let failures = 3;
  consumer.reply = () => (consumer.got.length >= 3 && failures-- > 0 ? 500 : 200);
  const ids = await tenant.send(...Array.from({ length: 8 }, () => ({})));
  await consumer.gotMany(11);
  const order = consumer.got.map((got) => ids.indexOf(eventIn(got).eventId));
  assert.deepEqual(order, [0, 1, 2, 2, 2, 2, 3, 4, 5, 6, 7]);
});
