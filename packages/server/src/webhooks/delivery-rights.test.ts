// Who may do what with deliveries, what they tell nobody, and what a repeat is answered: through the whole service.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { DeadLetter, List, Recovery, Role } from '@tallystick/contract';
import { PLATFORM_KEY } from '../testing/admin-caller.ts';
import { ask } from '../testing/ask.ts';
import { Consumer } from '../testing/consumer.ts';
import { consuming } from '../testing/consuming.ts';
import { QUICK } from '../testing/delivering-app.ts';
import { startTestApp, type TestApp } from '../testing/test-app.ts';
import { until } from '../testing/until.ts';

const folder = mkdtempSync(join(tmpdir(), 'tallystick-delivery-rights-'));
const start = () => startTestApp({ ...QUICK, Storage__DataDirectory: folder });

let app: TestApp;
before(async () => {
  app = await start();
});
after(async () => {
  await app[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

/** A tenant with one dead letter, whose consumer repeats what it is sent and answers 400. */
async function failing(tenant: string, consumer: Consumer, event: object = {}) {
  const made = await consuming(app, tenant, consumer, { retryClientErrors: false });
  consumer.reply = (got) => (response) => response.writeHead(400).end(got.text);
  await made.tenant.send(event);
  await until(async () => (await made.deliveries('?status=DeadLettered')).length === 1);
  const [delivery] = await made.deliveries();
  const letters = await made.tenant.ask<List<DeadLetter>>('GET', '/admin/dead-letter-queue');
  return { ...made, webhookId: delivery!.webhookId, messageId: letters.data[0]!.messageId };
}

const since = '2026-01-01T00:00:00.000Z';

function requestsOn(path: string, webhookId: string, messageId: string) {
  return [
    ['GET', `${path}/deliveries`, undefined],
    ['POST', `${path}/test`, undefined],
    ['POST', `${path}/recover`, { since }],
    ['POST', `${path}/deliveries/${webhookId}/redeliver`, undefined],
    ['POST', `/admin/dead-letter-queue/${messageId}/reprocess`, undefined],
    ['POST', '/admin/dead-letter-queue/reprocess', {}],
  ] as const;
}

test('Admins and Operators do it all, Auditors and Viewers nothing', async () => {
  await using consumer = await Consumer.start();
  const { tenant, path, webhookId, messageId } = await failing('roles', consumer);
  for (const role of ['Auditor', 'Viewer', 'Operator', 'Admin'] as Role[]) {
    const key = await tenant.keyWith({ roles: [role] });
    const isAllowed = role === 'Operator' || role === 'Admin';
    for (const [method, at, body] of requestsOn(path, webhookId, messageId)) {
      const { code } = await ask(app, method, `/api/v1${at}`, { key, tenant: 'roles', body });
      // By then it may be under way.
      if (isAllowed) assert.match(code, /^(200|202|404 MESSAGE_NOT_FOUND)$/, `${role} ${method} ${at}`);
      else assert.equal(code, '403 FORBIDDEN', `${role} ${method} ${at}`);
    }
  }
});

test('nothing of another tenant is there', async () => {
  await using consumer = await Consumer.start();
  const one = await failing('one', consumer);
  await using foreign = await Consumer.start();
  const other = await consuming(app, 'other', foreign);
  const { operationId } = await one.tenant.ask<Recovery>('POST', `${one.path}/recover`, { since });
  const count = consumer.got.length;
  const codes = async (method: string, at: string, body?: object) =>
    (await ask(app, method, `/api/v1${at}`, { key: PLATFORM_KEY, tenant: 'other', body })).code;
  const [list, tested, recover, redeliver, reprocess] = requestsOn(one.path, one.webhookId, one.messageId);
  for (const [method, at, body] of [list, tested, recover, redeliver])
    assert.equal(await codes(method, at, body), '404 SUBSCRIPTION_NOT_FOUND');
  const foreignId = `${other.path}/deliveries/${one.webhookId}/redeliver`;
  assert.equal(await codes('POST', foreignId), '404 DELIVERY_NOT_FOUND');
  assert.equal(await codes('POST', reprocess[1]), '404 MESSAGE_NOT_FOUND');
  assert.match(await codes('GET', `/admin/operations/${operationId}`), /^404/);
  const { count: queued } = await other.tenant.ask<{ count: number }>(
    'POST',
    '/admin/dead-letter-queue/reprocess',
    { subscriptionId: one.subscription.subscriptionId },
  );
  assert.deepEqual([queued, (await other.deliveries()).length], [0, 0]);
  assert.ok(consumer.got.length >= count);
});

test('deliveries and dead letters tell nothing of what was sent, not to those who may read it either', async () => {
  const [canary, guess] = ['canary-7f3a9', 'DE89370400440532013000'];
  await using consumer = await Consumer.start();
  const event = { classification: 'Secret', payload: { canary, iban: guess }, context: { canary } };
  const { tenant, path } = await failing('quiet', consumer, event);
  assert.ok(consumer.got[0]!.text.includes(canary), 'the subscription may see it');
  const signature = consumer.got[0]!.body.signature;
  for (const role of ['Operator', 'Admin']) {
    const key = await tenant.keyWith({ roles: [role] });
    for (const at of [`${path}/deliveries`, '/admin/dead-letter-queue']) {
      const { text, code } = await ask(app, 'GET', `/api/v1${at}`, { key, tenant: 'quiet' });
      assert.equal(code, '200');
      for (const told of [canary, guess, signature, String(consumer.got[0]!.headers['x-audit-signature'])])
        assert.ok(!text.includes(told), `${role} ${at}`);
    }
  }
});

test('a repeat is answered as the first request was, after a restart too; another body under the key is refused', async () => {
  await using consumer = await Consumer.start();
  const { path, webhookId, messageId } = await failing('again', consumer);
  const all = requestsOn(path, webhookId, messageId).filter(([method]) => method === 'POST');
  // The letter first: the others may take it away.
  const order = [all[3]!, all[0]!, all[1]!, all[2]!, all[4]!];
  const send = ([method, at, body]: (typeof all)[number], i: number, other: object | undefined = body) =>
    ask(app, method, `/api/v1${at}`, {
      key: PLATFORM_KEY,
      tenant: 'again',
      body: other,
      headers: { 'Idempotency-Key': `key-${i}` },
    });
  const first = [];
  for (const [i, request] of order.entries()) first.push(await send(request, i));
  for (const { status, text } of first) assert.ok(status < 300, text);
  for (const isRestarted of [false, true]) {
    if (isRestarted) {
      await app[Symbol.asyncDispose]();
      app = await start();
    }
    for (const [i, request] of order.entries()) {
      const repeat = await send(request, i);
      // How the consumer answered a test is told once.
      const seen = (body: unknown) =>
        request[1].endsWith('/test') ? (body as { webhookId: string }).webhookId : body;
      assert.deepEqual([repeat.status < 300, seen(repeat.body)], [true, seen(first[i]!.body)], request[1]);
    }
    const since2 = '2026-01-02T00:00:00.000Z';
    assert.equal((await send(order[2]!, 2, { since: since2 })).code, '409 IDEMPOTENCY_KEY_REUSED');
    assert.equal((await send(order[4]!, 4, { source: 'Export' })).code, '409 IDEMPOTENCY_KEY_REUSED');
  }
  const tests = consumer.got.filter(({ body }) => body.webhookType === 'system.event');
  assert.equal(tests.length, 1);
});

test('a delivery that is being sent begins again when somebody asks for it, once for a key', async () => {
  await using consumer = await Consumer.start();
  const { tenant, path, deliveries } = await consuming(app, 'under-way', consumer, {});
  const answers: ((status: number) => void)[] = [];
  consumer.reply = () => (response) => void answers.push((status) => response.writeHead(status).end());
  await tenant.send({});
  await consumer.gotMany(1);
  const [{ webhookId } = assert.fail()] = await deliveries();
  const redeliver = () =>
    ask(app, 'POST', `/api/v1${path}/deliveries/${webhookId}/redeliver`, {
      key: PLATFORM_KEY,
      tenant: 'under-way',
      headers: { 'Idempotency-Key': 'once' },
    });
  const first = await redeliver();
  assert.equal(first.code, '202');
  await consumer.gotMany(2);
  answers[0]!(500);
  answers[1]!(200);
  await until(async () => (await deliveries('?status=Acknowledged')).length === 1);
  const repeat = await redeliver();
  assert.deepEqual([repeat.code, repeat.body], ['200', first.body]);
  assert.equal(consumer.got.length, 2, 'it is not sent a third time');
  const [delivery] = await deliveries();
  assert.deepEqual(
    delivery?.attempts.map(({ attemptNumber, responseStatus }) => [attemptNumber, responseStatus]),
    [[1, 200]],
    'the attempt that was under way does not count',
  );
});
