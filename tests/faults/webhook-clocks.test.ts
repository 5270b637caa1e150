// P10 with clocks that are set while deliveries wait and a circuit is open: nothing is lost, waits longer than it should, or is sent more
// often. On the embedded store; on PostgreSQL the database's clock says when jobs are due.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { Delivery, List, Subscription } from '@tallystick/contract';
import { Consumer } from '../../packages/server/src/testing/consumer.ts';
import { DAY_MS, HOUR_MS, startInTime, START_MS, type TimedService } from './in-time.ts';
import { temporaryFolder } from './running.ts';
import { SIZE } from './size.ts';

const ENV = { Webhooks__AllowPrivateTargets: 'true' };
const SUBSCRIPTIONS = '/api/v1/webhooks/subscriptions';
/** Small enough to measure a wait by. */
const STEPS = 150;
const MINUTE_MS = 60_000;
/** −1 h, +1 day, and back. */
const SHIFTS = [-HOUR_MS, DAY_MS, 0];
/** An hour of the service's clock each. */
const CIRCUIT_SHIFTS = SIZE.isLong ? SHIFTS : SHIFTS.slice(0, 1);

async function subscribe(service: TimedService, consumer: Consumer): Promise<string> {
  const body = { name: 'SIEM', url: consumer.url, eventTypes: ['AuditEventReceived'] };
  const reply = await service.ask({ path: SUBSCRIPTIONS, body });
  assert.equal(reply.status, 201, JSON.stringify(reply.body));
  return `${SUBSCRIPTIONS}/${(reply.body as Subscription).subscriptionId}`;
}

async function deliveries({ ask }: TimedService, path: string): Promise<readonly Delivery[]> {
  return ((await ask({ method: 'GET', path: `${path}/deliveries?limit=100` })).body as List<Delivery>).data;
}

async function standing({ ask }: TimedService, path: string): Promise<Subscription> {
  return (await ask({ method: 'GET', path })).body as Subscription;
}

/** Advances the clock until the condition holds, and returns by how much. Connections take real time. */
async function passUntil(
  { clock }: TimedService,
  mostMs: number,
  isSo: () => boolean | Promise<boolean>,
): Promise<number> {
  const stepMs = mostMs / STEPS;
  for (let passedMs = 0; passedMs <= mostMs; passedMs += stepMs) {
    if (await isSo()) return passedMs;
    await clock.advance(stepMs);
    await pause(10);
  }
  assert.fail(`it is not so after ${mostMs} ms: ${isSo.toString()}`);
}

const isOfTest = ({ body }: { readonly body: object }) => 'system' in body;

test('a clock that is set while deliveries wait changes nothing of when they are sent again', async () => {
  using folder = temporaryFolder();
  await using consumer = await Consumer.start();
  await using service = await startInTime(join(folder.path, 'data'), START_MS, {}, ENV);
  const path = await subscribe(service, consumer);
  consumer.reply = () => 500;
  const count = 3;
  for (let i = 0; i < count; i++) await service.send(`waits-${i}`);
  await passUntil(service, MINUTE_MS, () => consumer.got.length === count);
  let attempts = 1;
  // After 30 seconds and after 5 minutes, and after 15 minutes it arrives: each by ±20 %, with the clock set before each.
  for (const [i, delayMs] of [0.5 * MINUTE_MS, 5 * MINUTE_MS, 15 * MINUTE_MS].entries()) {
    const realMs = service.clock.now();
    service.clock.setNow(realMs + SHIFTS[i]!);
    if (i === 2) consumer.reply = () => 200;
    attempts += 1;
    const passedMs = await passUntil(service, 1.3 * delayMs, () => consumer.got.length === attempts * count);
    assert.ok(passedMs >= 0.7 * delayMs, `${passedMs} ms`);
  }
  await passUntil(service, MINUTE_MS, async () =>
    (await deliveries(service, path)).every(({ status }) => status === 'Acknowledged'),
  );
  assert.equal(consumer.got.length, attempts * count);
});

test('a clock that is set while a circuit is open changes nothing of its tests', async () => {
  using folder = temporaryFolder();
  await using consumer = await Consumer.start();
  await using service = await startInTime(join(folder.path, 'data'), START_MS, {}, ENV);
  const path = await subscribe(service, consumer);
  consumer.reply = () => 500;
  const count = 20;
  for (let i = 0; i < count; i++) await service.send(`waits-${i}`);
  await passUntil(service, HOUR_MS, async () => (await standing(service, path)).status === 'Paused');
  for (const [i, shiftMs] of CIRCUIT_SHIFTS.entries()) {
    service.clock.setNow(service.clock.now() + shiftMs);
    if (i === CIRCUIT_SHIFTS.length - 1) consumer.reply = () => 200;
    const passedMs = await passUntil(
      service,
      1.1 * HOUR_MS,
      () => consumer.got.filter(isOfTest).length === i + 1,
    );
    assert.ok(passedMs >= 0.8 * HOUR_MS, `${passedMs} ms`);
  }
  await passUntil(service, HOUR_MS, async () =>
    (await deliveries(service, path)).every(({ status }) => status === 'Acknowledged'),
  );
  assert.equal((await deliveries(service, path)).length, count);
  assert.equal((await standing(service, path)).status, 'Active');
});

test('after starts by clocks that are off, what waits is sent no later than it would have been', async () => {
  using folder = temporaryFolder();
  const dataDirectory = join(folder.path, 'data');
  await using consumer = await Consumer.start();
  consumer.reply = () => 500;
  let path = '';
  // Ahead by a day, right, and behind by an hour: an attempt after each start, and then it waits for the next one.
  for (const [i, shiftMs] of [DAY_MS, 0, -HOUR_MS].entries()) {
    await using service = await startInTime(dataDirectory, START_MS + shiftMs + i * MINUTE_MS, {}, ENV);
    if (path === '') {
      path = await subscribe(service, consumer);
      await service.send('waits');
    }
    await passUntil(service, 7 * MINUTE_MS, () => consumer.got.length === i + 1);
    await passUntil(
      service,
      MINUTE_MS,
      async () => (await deliveries(service, path))[0]?.attempts.length === i + 1,
    );
  }
  consumer.reply = () => 200;
  await using service = await startInTime(dataDirectory, START_MS + 20 * MINUTE_MS, {}, ENV);
  await passUntil(
    service,
    20 * MINUTE_MS,
    async () => (await deliveries(service, path))[0]?.status === 'Acknowledged',
  );
  assert.equal(consumer.got.length, 4);
});
