// P10's other half: consumers that hang hold up no other consumer, in their tenant or in another, not even at the same origin. Two phases on
// one service, without and with hanging consumers, show how much slower the healthy ones get.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { NewSubscription } from '@tallystick/contract';
import { WITH_PLATFORM_KEY } from '../../packages/server/src/testing/admin-caller.ts';
import { Consumer } from '../../packages/server/src/testing/consumer.ts';
import { type PolicedTenant, policedTenant } from '../../packages/server/src/testing/policed-tenant.ts';
import { startTestApp, type TestApp } from '../../packages/server/src/testing/test-app.ts';
import { SIZE } from './size.ts';

const MANY = 100;
/** Each event goes to all healthy consumers. */
const EVENTS = SIZE.isLong ? 60 : 6;
const EVERY_MS = 500;
/** Generous, since other tests run at the same time; the diagnostics show the figure. */
const SLOWER_MAX = 3;
const SLOWER_MS_MAX = 1500;
/** Far less than the timeout of a consumer that hangs. */
const SAME_ORIGIN_MS_MAX = 4000;

let app: TestApp;
before(async () => {
  app = await startTestApp({ ...WITH_PLATFORM_KEY, Webhooks__AllowPrivateTargets: 'true' });
});
after(() => app[Symbol.asyncDispose]());

async function subscribe(tenant: PolicedTenant, url: string): Promise<void> {
  const body = { name: 'SIEM', url, eventTypes: ['AuditEventReceived'], timeoutSeconds: 10 };
  await tenant.ask<NewSubscription>('POST', '/webhooks/subscriptions', body);
}

/** Each is an origin of its own. */
async function subscribeMany(
  stack: AsyncDisposableStack,
  tenant: PolicedTenant,
  reply: Consumer['reply'],
): Promise<readonly Consumer[]> {
  const consumers: Consumer[] = [];
  for (let i = 0; i < MANY; i++) {
    const consumer = stack.use(await Consumer.start());
    consumer.reply = reply;
    await subscribe(tenant, consumer.url);
    consumers.push(consumer);
  }
  return consumers;
}

const hangs: Consumer['reply'] = () => () => {};

/** The delay that this share of the deliveries stays within; on a machine busy with other tests some always come late. */
const PART = SIZE.isLong ? 0.99 : 0.9;

/** From an event to each consumer. */
async function delayOf(
  tenant: PolicedTenant,
  consumers: readonly Consumer[],
  meanwhile: () => Promise<unknown>,
): Promise<number> {
  const sentMs = new Map<string, number>();
  const before = consumers.map(({ got }) => got.length);
  for (let i = 0; i < EVENTS; i++) {
    const atMs = Date.now();
    const [[eventId]] = await Promise.all([tenant.send({}), meanwhile()]);
    sentMs.set(eventId!, atMs);
    await pause(EVERY_MS);
  }
  const delays = await Promise.all(
    consumers.map(async (consumer, i) =>
      (await consumer.gotMany(before[i]! + EVENTS)).slice(before[i]).map(({ body, atMs }) => {
        assert.ok('event' in body);
        return atMs - sentMs.get(body.event.eventId)!;
      }),
    ),
  );
  const sorted = delays.flat().toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length * PART)]!;
}

for (const tenants of [1, 2])
  test(`${MANY} consumers that hang, and ${MANY} that do not, in ${tenants} tenant(s)`, async (t) => {
    await using stack = new AsyncDisposableStack();
    const tenant = policedTenant(app, `healthy-${tenants}`);
    const other = tenants === 1 ? tenant : policedTenant(app, 'hung');
    const healthy = await subscribeMany(stack, tenant, () => 200);
    const without = await delayOf(tenant, healthy, async () => {});
    const hung = await subscribeMany(stack, other, hangs);
    const meanwhile = tenants === 1 ? async () => {} : () => other.send({});
    const slowest = SLOWER_MAX * without + SLOWER_MS_MAX;
    let withThem = await delayOf(tenant, healthy, meanwhile);
    // A busy disk may stop everything for seconds, once.
    if (withThem > slowest) withThem = await delayOf(tenant, healthy, meanwhile);
    t.diagnostic(`p${PART * 100} ${without} ms without those that hang, ${withThem} ms with them`);
    assert.ok(hung.every(({ got }) => got.length > 0));
    assert.ok(withThem <= slowest, `${withThem} ms, ${without} ms without`);
  });

test(`${MANY} subscriptions that hang at an origin hold up no other tenant that uses it`, async (t) => {
  await using consumer = await Consumer.start();
  const { url } = consumer;
  consumer.reply = ({ path }) => (path === '/hung' ? () => {} : 200);
  const [tenant, other] = [policedTenant(app, 'at-origin'), policedTenant(app, 'hung-at-origin')];
  await subscribe(tenant, url);
  for (let i = 0; i < MANY; i++) await subscribe(other, new URL('/hung', url).href);
  await other.send({}, {});
  const isOther = ({ path }: { readonly path: string }) => path !== '/hung';
  // By then the hanging consumers have all the connections that they can get.
  await pause(1500);
  const atMs = Date.now();
  await tenant.send({});
  while (!consumer.got.some(isOther)) await pause(10);
  const tookMs = Date.now() - atMs;
  t.diagnostic(`${consumer.got.length - 1} hung, and the other one took ${tookMs} ms`);
  assert.ok(tookMs < SAME_ORIGIN_MS_MAX, `${tookMs} ms`);
});
