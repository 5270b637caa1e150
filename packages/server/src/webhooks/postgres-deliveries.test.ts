// Two nodes on one database deliver together: each event once, no faster than one node may, and what is paused through one stops on both.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { LIMITS, type ServiceStatus, type TestDelivery } from '@tallystick/contract';
import { PLATFORM_KEY, WITH_PLATFORM_KEY } from '../testing/admin-caller.ts';
import { ask } from '../testing/ask.ts';
import { Consumer, type Got } from '../testing/consumer.ts';
import { consuming, eventIn } from '../testing/consuming.ts';
import { policedTenant } from '../testing/policed-tenant.ts';
import { type Databases, openDatabases } from '../testing/postgres-server.ts';
import { startTestApp, type TestApp } from '../testing/test-app.ts';
import { until } from '../testing/until.ts';

let server: Databases;
let folder: string;
const nodes: TestApp[] = [];
before(async () => {
  server = await openDatabases();
  folder = mkdtempSync(join(tmpdir(), 'tallystick-deliveries-'));
  const url = await server.createDatabase();
  for (const node of ['a', 'b'])
    nodes.push(
      await startTestApp({
        ...WITH_PLATFORM_KEY,
        Environment: 'Test',
        Storage__Url: url,
        Storage__DataDirectory: join(folder, 'data'),
        Webhooks__AllowPrivateTargets: 'true',
        Node__Name: node,
      }),
    );
  // Each takes its part of the rate once it knows of the other.
  for (const node of nodes) await until(async () => (await nodeNamesOf(node)).length === nodes.length);
});
after(async () => {
  for (const node of nodes) await node[Symbol.asyncDispose]();
  await server?.[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

async function nodeNamesOf(node: TestApp): Promise<string[]> {
  const { body } = await ask<ServiceStatus>(node, 'GET', '/api/v1/status', {
    key: PLATFORM_KEY,
    tenant: 'acme',
  });
  return (body.nodes ?? []).map(({ name }) => name);
}

const EVENTS = 300;
/** Of a tenant, by both nodes at the same time. */
async function sendByBoth(tenant: string): Promise<Set<string>> {
  const half = Array.from({ length: EVENTS / 2 }, () => ({}));
  const sent = await Promise.all(nodes.map((node) => policedTenant(node, tenant).send(...half)));
  return new Set(sent.flat());
}

const sentAtMs = ({ body }: Got) => Date.parse(body.timestamp);

test('each event is delivered once, and no faster than by one node', async () => {
  await using consumer = await Consumer.start();
  await consuming(nodes[0]!, 'together', consumer);
  const sent = await sendByBoth('together');
  const got = await consumer.gotMany(EVENTS);
  assert.deepEqual(new Set(got.map((each) => eventIn(each).eventId)), sent);
  const times = got.map(sentAtMs).sort((a, b) => a - b);
  const spanMs = times.at(-1)! - times[0]!;
  // Without a common rate it would be half of this; a quarter is left to timers that are late.
  const leastMs = (0.75 * 1000 * EVENTS) / LIMITS.deliveriesPerSecondMax;
  assert.ok(spanMs >= leastMs, `${EVENTS} deliveries were sent in ${spanMs} ms`);
  // A repeat would come when a lease has ended, or with the next claim.
  await new Promise((resolve) => setTimeout(resolve, 1500));
  assert.equal(consumer.got.length, EVENTS);
});

/** For the other node to hear of it, and for those that wait for their turn already. */
const STOPPED_MS = 2000;

test('a subscription that is paused through one node is not delivered to by the other, and goes on with all that waited', async () => {
  await using consumer = await Consumer.start();
  const { path, tenant, now } = await consuming(nodes[0]!, 'paused', consumer);
  const sent = await sendByBoth('paused');
  await consumer.gotMany(40);
  await policedTenant(nodes[1]!, 'paused').ask('POST', `${path}/pause`);
  const pausedMs = Date.now();
  await new Promise((resolve) => setTimeout(resolve, 1.5 * STOPPED_MS));
  const late = consumer.got.filter((each) => sentAtMs(each) > pausedMs + STOPPED_MS);
  assert.deepEqual(late.map(eventIn), []);
  assert.ok(consumer.got.length < EVENTS, 'there is something left to deliver');
  assert.equal((await now()).status, 'Paused');
  await tenant.ask('POST', `${path}/resume`);
  const got = await consumer.gotMany(EVENTS);
  assert.deepEqual(new Set(got.map((each) => eventIn(each).eventId)), sent);
  assert.equal(consumer.got.length, EVENTS);
});

test('a test delivery that two nodes are asked for under one key at the same moment has one id, for both', async () => {
  await using consumer = await Consumer.start();
  consumer.reply = () => (response) => void setTimeout(() => response.writeHead(200).end(), 500);
  const { path } = await consuming(nodes[0]!, 'tested', consumer);
  const test = { key: PLATFORM_KEY, tenant: 'tested', headers: { 'Idempotency-Key': 'one' } };
  const answers = await Promise.all(
    nodes.map((node) => ask<TestDelivery>(node, 'POST', `/api/v1${path}/test`, test)),
  );
  assert.deepEqual(
    answers.map(({ code }) => code),
    ['200', '200'],
  );
  const ids = new Set(
    [...answers.map(({ body }) => body), ...consumer.got.map(({ body }) => body)].map(
      ({ webhookId }) => webhookId,
    ),
  );
  assert.equal(ids.size, 1);
});
