// P10 with consumers that break every rule, all of them at once in one tenant: each attempt is recorded with what was wrong,
// each delivery ends as acknowledged or as a dead letter, and none holds up what healthy consumers get.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Delivery, List, NewSubscription, Subscription } from '@tallystick/contract';
import { createDnsResolve } from '../../packages/server/src/outbound/http/dns-resolve.ts';
import { systemClock } from '../../packages/server/src/runtime/clock.ts';
import { Consumer } from '../../packages/server/src/testing/consumer.ts';
import { QUICK } from '../../packages/server/src/testing/delivering-app.ts';
import { NameServer } from '../../packages/server/src/testing/name-server.ts';
import { type PolicedTenant, policedTenant } from '../../packages/server/src/testing/policed-tenant.ts';
import { ScriptedConsumer } from '../../packages/server/src/testing/scripted-consumer.ts';
import { startTestApp, type TestApp } from '../../packages/server/src/testing/test-app.ts';
import { until } from '../../packages/server/src/testing/until.ts';
import { ATTEMPTS, type BadConsumer } from './webhooks/bad-consumer.ts';
import { HTTP_CASES } from './webhooks/http-cases.ts';
import { nameCases } from './webhooks/name-cases.ts';
import { TLS_CASES } from './webhooks/tls-cases.ts';

const nameServer = await NameServer.start({});
const CASES: readonly BadConsumer[] = [...HTTP_CASES, ...TLS_CASES, ...nameCases(nameServer)];
const HEALTHY_EVENTS = 60;
const HEALTHY_ACTION = 'Read.Invoice';
const EVERY_MS = 30;
/** From an event to its healthy consumers, with all the bad ones at work; without those it takes some ten milliseconds. */
const DELAY_MS_MAX = 10_000;

/** Each gets an event of its own. */
const actorOf = (each: BadConsumer) => `consumer-${CASES.indexOf(each)}`;

const eventFor = (each: BadConsumer) => ({ actor: { actorType: 'User', userId: actorOf(each) } });

interface Met extends AsyncDisposable {
  readonly consumer: ScriptedConsumer;
  readonly path: string;
}

describe(`of ${CASES.length} bad consumers`, () => {
  const stack = new AsyncDisposableStack();
  const met = new Map<BadConsumer, Met>();
  let tenant: PolicedTenant;
  let delaysMs: readonly number[];

  before(async () => {
    stack.use(nameServer);
    const app = stack.use(await start());
    tenant = policedTenant(app, 'met');
    for (const each of CASES) met.set(each, stack.use(await meet(tenant, each)));
    for (const { moves } of CASES) moves?.();
    const healthy = await Promise.all([tenant, policedTenant(app, 'elsewhere')].map(healthyOne));
    for (const { consumer } of healthy) stack.use(consumer);
    await tenant.send(...CASES.map(eventFor));
    delaysMs = (await Promise.all(healthy.map(delaysOf))).flat();
  });
  after(() => stack.disposeAsync());

  for (const each of CASES)
    it(`the one that ${each.name}`, async () => {
      const { consumer, path } = met.get(each)!;
      const { events = 1, isUnasked = false } = each;
      let deliveries = await ended(tenant, path, 1);
      for (let sent = 2; sent <= events; sent++) {
        await tenant.send(eventFor(each));
        deliveries = await ended(tenant, path, sent);
      }
      for (const delivery of deliveries) requireSeen(each, delivery, Math.max(...delaysMs));
      assert.equal(new Set(deliveries.map(({ webhookId }) => webhookId)).size, events);
      if (isUnasked) assert.equal(consumer.connections, 0);
      requireStanding(each, await tenant.ask<Subscription>('GET', path));
    });

  it('none holds up a healthy one, in its tenant or in another', (t) => {
    const longestMs = Math.max(...delaysMs);
    t.diagnostic(`${delaysMs.length} deliveries to healthy ones, the slowest within ${longestMs} ms`);
    assert.ok(longestMs < DELAY_MS_MAX, `${longestMs} ms`);
  });
});

function start(): Promise<TestApp> {
  const resolveConsumer = createDnsResolve({ clock: systemClock, servers: [nameServer.address] });
  return startTestApp(QUICK, { resolveConsumer });
}

async function meet(tenant: PolicedTenant, each: BadConsumer): Promise<Met> {
  const consumer = await ScriptedConsumer.with(each.consumer);
  const { protocol, port } = new URL(consumer.url);
  const { host = '127.0.0.1', scheme = protocol.slice(0, -1) } = each;
  const { subscriptionId } = await tenant.ask<NewSubscription>('POST', '/webhooks/subscriptions', {
    name: each.name,
    url: `${scheme}://${host}:${port}/hook`,
    eventTypes: ['AuditEventReceived'],
    filters: { 'actor.userId': actorOf(each) },
    retry: { strategy: 'Exponential', initialDelay: 'PT1S', maxDelay: 'PT1S' },
    timeoutSeconds: 30,
    ...each.subscription,
  });
  const path = `/webhooks/subscriptions/${subscriptionId}`;
  return { consumer, path, [Symbol.asyncDispose]: () => consumer[Symbol.asyncDispose]() };
}

async function healthyOne(tenant: PolicedTenant) {
  const consumer = await Consumer.start();
  await tenant.ask('POST', '/webhooks/subscriptions', {
    name: 'Healthy',
    url: consumer.url,
    eventTypes: ['AuditEventReceived'],
    filters: { actions: [HEALTHY_ACTION] },
  });
  return { tenant, consumer };
}

/** From each event to its arrival. */
async function delaysOf({ tenant, consumer }: Awaited<ReturnType<typeof healthyOne>>): Promise<number[]> {
  const sentMs = new Map<string, number>();
  for (let i = 0; i < HEALTHY_EVENTS; i++) {
    const atMs = Date.now();
    const [eventId] = await tenant.send({ action: HEALTHY_ACTION });
    sentMs.set(eventId!, atMs);
    await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
  }
  const got = await consumer.gotMany(HEALTHY_EVENTS);
  return got.map(({ body, atMs }) => {
    assert.ok('event' in body);
    return atMs - sentMs.get(body.event.eventId)!;
  });
}

/** All deliveries of a subscription, once there are so many and all have ended. */
async function ended(tenant: PolicedTenant, path: string, count: number): Promise<readonly Delivery[]> {
  const list = async (query: string) =>
    (await tenant.ask<List<Delivery>>('GET', `${path}/deliveries${query}`)).data;
  await until(async () => (await list('?status=Acknowledged,DeadLettered')).length >= count);
  assert.deepEqual(await list('?status=Queued,RetryScheduled'), []);
  return list('');
}

/** `lateMs`: how late healthy deliveries come; a busy machine delays these as well. */
function requireSeen({ seen, gapMs }: BadConsumer, { status, attempts }: Delivery, lateMs: number): void {
  assert.deepEqual([status, attempts.length], [seen.status, seen.attempts], JSON.stringify(attempts));
  const last = attempts.at(-1)!;
  assert.equal(last.responseStatus, seen.responseStatus);
  const failed = status === 'Acknowledged' ? attempts.slice(0, -1) : attempts;
  // The name server is in this process, too, and answers too late where the machine is busy.
  const isLate = (error = '') => error.includes('(ETIMEOUT)') && seen.fault?.test('Dns') === false;
  assert.ok(failed.length === 0 || failed.some(({ error }) => !isLate(error)), 'the name server was late');
  for (const { fault, error } of failed) {
    if (!isLate(error)) assert.match(fault ?? 'none', seen.fault!, error);
    assert.ok(error !== undefined && !error.includes('169.254'), error);
  }
  if (status === 'Acknowledged') assert.equal(last.fault, undefined);
  if (gapMs === undefined) return;
  const [min, max] = gapMs;
  const [firstMs = 0, secondMs = 0] = attempts.map(({ at }) => Date.parse(at));
  const gap = secondMs - firstMs;
  assert.ok(gap >= min && gap <= max + lateMs, `${gap} ms`);
}

function requireStanding({ seen }: BadConsumer, { status, circuit }: Subscription): void {
  if (seen.status === 'Acknowledged')
    assert.deepEqual([status, circuit], ['Active', { state: 'Closed', consecutiveFailures: 0 }]);
  else if (seen.responseStatus === 410) assert.equal(status, 'Failed');
  else if (seen.attempts < ATTEMPTS) assert.deepEqual([status, circuit.consecutiveFailures], ['Active', 1]);
  else {
    // After 24 failed test deliveries it has failed for good.
    assert.match(status, /^(Paused|Failed)$/);
    assert.ok(circuit.consecutiveFailures >= ATTEMPTS);
  }
}
