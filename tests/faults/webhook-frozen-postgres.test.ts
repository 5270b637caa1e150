// P10 with a node that is frozen while it holds a delivery, for longer than its lease: the other node delivers, and the result that the
// frozen node gets after it wakes up is not saved.

import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { Delivery, List, Subscription } from '@tallystick/contract';
import { Consumer } from '../../packages/server/src/testing/consumer.ts';
import { until } from '../../packages/server/src/testing/until.ts';
import { BACKENDS } from './backends.ts';
import { Client, event } from './client.ts';
import { type Service, startService } from './running.ts';
import { WEBHOOK_ENV } from './webhooks/delivery-place.ts';

const SUBSCRIPTIONS = '/api/v1/webhooks/subscriptions';
/** For the frozen node to do any harm that it can. */
const AWAKE_MS = 3000;

async function ask<T>({ url }: Service, method: string, path: string, body?: object): Promise<T> {
  using client = new Client(url);
  const reply = await client.ask({ method, path, ...(body && { body }) });
  assert.ok(reply.status < 300, `${reply.status} ${JSON.stringify(reply.body)}`);
  return reply.body as T;
}

// Each has its own database and nodes; mostly they wait.
describe('a node that is frozen with a delivery changes nothing', { concurrency: true }, () => {
  // What the consumer answers to the frozen node: a failure, that it is gone, or a success.
  for (const status of [500, 410, 200])
    test(`and is answered ${status} then`, async () => {
      await using backend = await BACKENDS.PostgreSQL();
      await using consumer = await Consumer.start();
      const start = (name: string) =>
        startService({ ...backend.start, env: { ...backend.start.env, ...WEBHOOK_ENV, Node__Name: name } });
      await using frozen = await start('frozen');
      const body = {
        name: 'SIEM',
        url: consumer.url,
        eventTypes: ['AuditEventReceived'],
        timeoutSeconds: 30,
      };
      const { subscriptionId } = await ask<Subscription>(frozen, 'POST', SUBSCRIPTIONS, body);
      const held = Promise.withResolvers<ServerResponse>();
      consumer.reply = () => (response) => held.resolve(response);
      await ask(frozen, 'POST', '/api/v1/audit-events', event('held'));
      const response = await held.promise;
      frozen.kill('SIGSTOP');
      consumer.reply = () => 202;
      await using other = await start('other');
      await backend.endLeases!();
      const path = `${SUBSCRIPTIONS}/${subscriptionId}`;
      const delivery = async () => (await ask<List<Delivery>>(other, 'GET', `${path}/deliveries`)).data[0]!;
      await until(async () => (await delivery()).status === 'Acknowledged');
      const saved = await delivery();
      response.writeHead(status).end();
      frozen.kill('SIGCONT');
      await pause(AWAKE_MS);
      assert.deepEqual(await delivery(), saved);
      assert.deepEqual(
        saved.attempts.map(({ responseStatus }) => responseStatus),
        [202],
      );
      const { status: standing, circuit } = await ask<Subscription>(other, 'GET', path);
      assert.deepEqual([standing, circuit], ['Active', { state: 'Closed', consecutiveFailures: 0 }]);
      assert.equal(new Set(consumer.got.map((got) => got.body.webhookId)).size, 1);
      // The node still serves and delivers.
      await ask(frozen, 'POST', '/api/v1/audit-events', event('later'));
      await until(
        async () =>
          (await ask<List<Delivery>>(frozen, 'GET', `${path}/deliveries?status=Acknowledged`)).data.length ===
          2,
      );
    });
});
