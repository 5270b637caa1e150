// P10 for changes while a delivery waits or is under way: its subscription is deleted, paused, resumed, gets another URL or another secret;
// its event is purged, redacted or hidden. All with one service.

import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { describe, it } from 'node:test';
import type { AuditEvent, RotatedSecret } from '@tallystick/contract';
import { Consumer, type Got } from '../../packages/server/src/testing/consumer.ts';
import { type Consuming, consuming } from '../../packages/server/src/testing/consuming.ts';
import { QUICK, startDelivering } from '../../packages/server/src/testing/delivering-app.ts';
import { purgeBeside } from '../../packages/server/src/testing/purge.ts';
import { until } from '../../packages/server/src/testing/until.ts';

const app = startDelivering(QUICK);

const subscribed = (name: string, consumer: Consumer): Promise<Consuming> =>
  consuming(app, name, consumer, {
    retry: { strategy: 'Exponential', initialDelay: 'PT1S', maxDelay: 'PT1S' },
  });

/** Sends an event whose delivery the consumer leaves unanswered, and returns the function that answers it. */
async function underWay({ tenant }: Consuming, consumer: Consumer): Promise<(status: number) => void> {
  const held = Promise.withResolvers<ServerResponse>();
  consumer.reply = () => (response) => {
    consumer.reply = () => 200;
    held.resolve(response);
  };
  await tenant.send({});
  const response = await held.promise;
  return (status) => void response.writeHead(status).end();
}

function signatureOf(secret: string, { text }: Got): string {
  return `sha256=${createHmac('sha256', secret).update(text).digest('hex')}`;
}

describe('a delivery that is under way', () => {
  it('is not repeated once its subscription is deleted', async () => {
    await using consumer = await Consumer.start();
    await using witness = await Consumer.start();
    const each = await subscribed('deleted', consumer);
    await subscribed('deleted', witness);
    const answer = await underWay(each, consumer);
    await each.tenant.ask('DELETE', each.path);
    answer(500);
    await each.tenant.send({});
    await witness.gotMany(2);
    // A retry would have come by then: it is due after a millisecond.
    await new Promise((resolve) => setTimeout(resolve, 1500));
    assert.equal(consumer.got.length, 1);
  });

  it('is repeated after the pause that overtook it, and its failure says nothing of the consumer', async () => {
    await using consumer = await Consumer.start();
    const each = await subscribed('paused', consumer);
    const answer = await underWay(each, consumer);
    await each.tenant.ask('POST', `${each.path}/pause`);
    answer(500);
    await until(async () => (await each.deliveries())[0]?.attempts.length === 1);
    await new Promise((resolve) => setTimeout(resolve, 1500));
    assert.equal(consumer.got.length, 1);
    assert.deepEqual((await each.now()).circuit, { state: 'Closed', consecutiveFailures: 0 });
    await each.tenant.ask('POST', `${each.path}/resume`);
    const [first, second] = await consumer.gotMany(2);
    assert.equal(second!.body.webhookId, first!.body.webhookId);
    await until(async () => (await each.deliveries())[0]?.status === 'Acknowledged');
  });

  it('counts for nothing where its subscription was paused and resumed meanwhile, 410 neither', async () => {
    for (const status of [500, 410]) {
      await using consumer = await Consumer.start();
      const each = await subscribed(`resumed-${status}`, consumer);
      const answer = await underWay(each, consumer);
      await each.tenant.ask('POST', `${each.path}/pause`);
      await each.tenant.ask('POST', `${each.path}/resume`);
      answer(status);
      const last = status === 410 ? 'DeadLettered' : 'Acknowledged';
      await until(async () => (await each.deliveries())[0]?.status === last);
      const { status: standing, circuit } = await each.now();
      assert.deepEqual([standing, circuit.consecutiveFailures], ['Active', 0]);
    }
  });

  it('is repeated at the new URL', async () => {
    await using consumer = await Consumer.start();
    await using other = await Consumer.start();
    const each = await subscribed('moved', consumer);
    const answer = await underWay(each, consumer);
    await each.tenant.ask('PATCH', each.path, { url: other.url });
    answer(500);
    const [got] = await other.gotMany(1);
    assert.deepEqual([got!.headers['x-audit-attempt'], consumer.got.length], ['2', 1]);
    assert.equal(got!.body.webhookId, consumer.got[0]!.body.webhookId);
  });

  it('is repeated with the new secret, and with the old one only while it lives', async () => {
    await using consumer = await Consumer.start();
    const each = await subscribed('rotated', consumer);
    for (const gracePeriod of ['P1D', 'PT0S']) {
      const before = consumer.got.length;
      const answer = await underWay(each, consumer);
      const path = `${each.path}/rotate-secret`;
      const { secret } = await each.tenant.ask<RotatedSecret>('POST', path, { gracePeriod });
      answer(500);
      const [first, second] = (await consumer.gotMany(before + 2)).slice(before);
      assert.notEqual(first!.headers['x-audit-signature'], signatureOf(secret!, first!));
      assert.equal(second!.headers['x-audit-signature'], signatureOf(secret!, second!));
      assert.equal(second!.headers['x-audit-signature-previous'] !== undefined, gracePeriod === 'P1D');
    }
  });
});

/** Changes something while the delivery of an event waits; returns the delivery that is sent then, if any. A later event is always sent. */
async function sentAfter(
  name: string,
  event: object,
  change: (each: Consuming, eventId: string) => Promise<unknown>,
): Promise<Got | undefined> {
  await using consumer = await Consumer.start();
  const each = await subscribed(name, consumer);
  const { tenant, path } = each;
  await tenant.ask('POST', `${path}/pause`);
  const [eventId] = await tenant.send(event);
  await until(async () => (await each.deliveries()).length === 1);
  await change(each, eventId!);
  await tenant.ask('POST', `${path}/resume`);
  const [last] = await tenant.send({ action: 'Read.Later' });
  const isOf = (id: string) => (got: Got) => 'event' in got.body && got.body.event.eventId === id;
  await until(() => consumer.got.some(isOf(last!)));
  // Until nothing waits.
  await until(async () => (await each.deliveries()).every(({ status }) => status === 'Acknowledged'));
  const sent = consumer.got.filter(isOf(eventId!));
  assert.equal((await each.deliveries()).length, 1 + sent.length);
  return sent[0];
}

const PAYLOAD = { payload: { iban: 'DE1', amount: 1 } };
const ALLOWED = { access: 'Allow', roles: ['Admin'] };

describe('an event that waits to be sent', () => {
  it('is sent as it was, where nothing has happened to it', async () => {
    const got = await sentAfter('unchanged', PAYLOAD, async () => {});
    assert.match(got!.text, /"iban":"DE1"/);
  });

  it('is sent without the field that was redacted', async () => {
    const got = await sentAfter('redacted', PAYLOAD, ({ tenant }, eventId) =>
      tenant.ask('POST', `/audit-events/${eventId}/redact`, {
        fields: ['payload.iban'],
        reason: 'asked for',
      }),
    );
    assert.doesNotMatch(got!.text, /DE1/);
    assert.match(got!.text, /"amount":1/);
  });

  for (const isLeft of [true, false])
    it(`is not sent once it is purged${isLeft ? ', also before its content is deleted' : ''}`, async () => {
      const name = `purged-${isLeft}`;
      const got = await sentAfter(name, PAYLOAD, async ({ tenant }, eventId) => {
        const read = () => tenant.ask<AuditEvent>('GET', `/audit-events/${eventId}`);
        // Only content under a checkpoint can be removed.
        await until(async () => (await read()).integrity?.status !== 'Chained');
        const { sequence } = await read();
        const spans = [{ firstIndex: sequence - 1, endIndex: sequence }];
        await purgeBeside(app, { tenant: name, spans, isLeft });
      });
      assert.equal(got, undefined);
    });

  it('is not sent once a policy denies it to the author of the subscription', async () => {
    const got = await sentAfter('denied', PAYLOAD, ({ tenant }) =>
      tenant.put('Access', [
        { conditions: { action: 'Read.*' }, effect: ALLOWED },
        { conditions: { action: 'Delete.*' }, effect: { access: 'Deny', roles: ['Admin'] } },
      ]),
    );
    assert.equal(got, undefined);
  });

  it('is sent without the fields that a policy hides from the author by then', async () => {
    const got = await sentAfter('hidden', PAYLOAD, ({ tenant }) =>
      tenant.put('Access', [
        { conditions: { action: 'Read.*' }, effect: ALLOWED },
        { conditions: { action: 'Delete.*' }, effect: { ...ALLOWED, redactFields: ['payload.iban'] } },
      ]),
    );
    assert.doesNotMatch(got!.text, /DE1/);
    assert.match(got!.text, /"amount":1/);
  });

  for (const [classification, isSent] of [
    ['Confidential', true],
    ['Secret', false],
  ] as const)
    it(`is sent without its content, or not at all, once the clearance is too low: ${classification}`, async () => {
      const event = { ...PAYLOAD, classification };
      const got = await sentAfter(`lowered-${classification}`, event, ({ tenant, path }) =>
        tenant.ask('PATCH', path, { clearance: 'Internal' }),
      );
      assert.equal(got !== undefined, isSent);
      assert.doesNotMatch(got?.text ?? '', /DE1/);
    });
});
