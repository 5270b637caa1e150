// The library that the Standard Webhooks project publishes verifies real deliveries: consumers need no code of ours.

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import type { RotatedSecret } from '@tallystick/contract';
import { Consumer, type Got } from '../testing/consumer.ts';
import { consuming } from '../testing/consuming.ts';
import { startDelivering } from '../testing/delivering-app.ts';

interface Library {
  readonly Webhook: new (
    secret: string,
    options?: { readonly format: 'raw' },
  ) => { verify(body: string, headers: Readonly<Record<string, string>>): unknown };
  readonly WebhookVerificationError: new (message: string) => Error;
}

const { Webhook, WebhookVerificationError } = createRequire(import.meta.url)('standardwebhooks') as Library;
const FIVE_MINUTES_MS = 5 * 60_000;

const app = startDelivering();

async function subscribed(name: string, consumer: Consumer, more: object = {}) {
  const { tenant, path, subscription } = await consuming(app, name, consumer, { eventTypes: ['*'], ...more });
  return { tenant, path, secret: subscription.secret! };
}

const headersOf = ({ headers }: Got) => headers as Record<string, string>;
const refused = (verify: () => unknown) => assert.throws(verify, WebhookVerificationError);

test('a delivery verifies with the secret of the service, and an altered one does not', async () => {
  await using consumer = await Consumer.start();
  const { tenant, secret } = await subscribed('made', consumer);
  await tenant.send({ payload: { note: 'Grüße', amount: 12.5 } });
  const [got] = await consumer.gotMany(1);
  const webhook = new Webhook(secret);
  assert.deepEqual(webhook.verify(got!.text, headersOf(got!)), got!.body);
  refused(() => webhook.verify(got!.text.replace('12.5', '12.6'), headersOf(got!)));
  const id = 'a3c1b8de-7f40-5a11-8c3e-112233445566';
  refused(() => webhook.verify(got!.text, { ...headersOf(got!), 'webhook-id': id }));
  refused(() => new Webhook('whsec_AAAA').verify(got!.text, headersOf(got!)));
});

test('a delivery verifies for five minutes', async (t) => {
  await using consumer = await Consumer.start();
  const { tenant, path, secret } = await subscribed('aging', consumer);
  await tenant.ask('POST', `${path}/test`);
  const [got] = await consumer.gotMany(1);
  const sentMs = Number(got!.headers['webhook-timestamp']) * 1000;
  t.mock.timers.enable({ apis: ['Date'], now: sentMs + FIVE_MINUTES_MS });
  const webhook = new Webhook(secret);
  assert.ok(webhook.verify(got!.text, headersOf(got!)));
  t.mock.timers.setTime(sentMs + FIVE_MINUTES_MS + 1000);
  refused(() => webhook.verify(got!.text, headersOf(got!)));
});

test("a delivery verifies with a secret of one's own, and with both after a rotation", async () => {
  await using consumer = await Consumer.start();
  const own = 'correct-horse-battery-staple';
  const { tenant, path } = await subscribed('own', consumer, { secret: own });
  const { secret } = await tenant.ask<RotatedSecret>('POST', `${path}/rotate-secret`);
  await tenant.send({});
  const [got] = await consumer.gotMany(1);
  for (const webhook of [new Webhook(secret!), new Webhook(own, { format: 'raw' })])
    assert.deepEqual(webhook.verify(got!.text, headersOf(got!)), got!.body);
});
