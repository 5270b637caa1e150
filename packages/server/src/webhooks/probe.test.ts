import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LIMITS } from '@tallystick/contract';
import { consumersOver } from '../outbound/consumer.ts';
import { anyAddress, loopbackOnly } from '../outbound/http/address-rules.ts';
import { createOutboundHttp } from '../outbound/http/guarded-http.ts';
import { systemClock } from '../runtime/clock.ts';
import { Consumer } from '../testing/consumer.ts';
import { SubscribedStore } from '../testing/subscribed-store.ts';
import type { JobOutcome } from '../work/jobs.ts';
import { circuitsOnLanes, laneOf, noteOf, PROBE } from './lane-circuits.ts';
import { probeWork } from './probe.ts';
import { Sender } from './sender.ts';
import type { SubscriptionRecord } from './subscription.ts';

const COOLDOWN_MS = LIMITS.circuitCooldownMs;
const opened = { secret: 'secret', previousSecret: undefined, headers: {}, clientKey: undefined };

/** A subscription with an open circuit, and its real consumer. */
async function probing(more: Partial<SubscriptionRecord> = {}) {
  const stack = new AsyncDisposableStack();
  const place = stack.use(await SubscribedStore.open());
  const consumer = stack.use(await Consumer.start());
  const http = stack.use(createOutboundHttp({ clock: systemClock, https: anyAddress, http: loopbackOnly }));
  const woken: string[] = [];
  const work = probeWork({
    subscriptions: place.known,
    sender: new Sender({
      consumers: consumersOver(http),
      secrets: { open: async () => opened },
      clock: systemClock,
    }),
    clock: systemClock,
    timeScale: 1,
    wakeDeliverer: () => void woken.push('woken'),
  });
  const one = await place.subscribe({ url: consumer.url, ...more });
  const { subscriptionId: lane } = one;
  await place.jobs.changeLane(laneOf(lane), { status: 'Closes', note: noteOf({ round: 1, state: 'Open' }) });
  const body = JSON.stringify({ subscriptionId: lane, round: 1 });
  await place.enqueue({ kind: PROBE, lane, uniqueKey: `${lane} 1`, body });
  return {
    place,
    consumer,
    woken,
    one,
    circuit: async () => {
      const found = await circuitsOnLanes(place.store.storage.work).find(place.tenant, [lane]);
      return found.get(lane)!;
    },
    /** As the attempt with this number, if it is given. */
    async probe(attempts?: number): Promise<JobOutcome> {
      const [claim] = await place.claim(PROBE);
      const job = { ...claim!.job, ...(attempts !== undefined && { attempts }) };
      const { signal } = new AbortController();
      const outcome = await work.handle(job, { signal, progress: () => {} });
      await place.finish(claim!, outcome);
      return outcome;
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

test('a test delivery that arrives closes the circuit, and what waits is sent', async () => {
  await using each = await probing();
  assert.equal((await each.probe()).status, 'Done');
  const [got] = each.consumer.got;
  assert.ok(got!.body.webhookType === 'system.event');
  assert.deepEqual([got!.body.system.kind, got!.headers['x-audit-attempt']], ['Test', '1']);
  assert.deepEqual([(await each.circuit()).state, each.woken], ['Closed', ['woken']]);
});

test('one that fails comes again after the cooldown, as another delivery', async () => {
  await using each = await probing();
  each.consumer.reply = () => 500;
  const outcome = await each.probe();
  assert.deepEqual(outcome, {
    status: 'Failed',
    reason: 'the consumer answered 500',
    againInMs: COOLDOWN_MS,
  });
  const { state, nextAttemptAtMs } = await each.circuit();
  assert.equal(state, 'Open');
  assert.ok(Math.abs(nextAttemptAtMs! - Date.now() - COOLDOWN_MS) < 60_000);
  assert.deepEqual(each.woken, []);
});

test('after 24 that fail, or the answer 410, the subscription has failed', async () => {
  for (const [attempts, status] of [
    [LIMITS.circuitFailedProbesMax, 500],
    [1, 410],
  ] as const) {
    await using each = await probing();
    each.consumer.reply = () => status;
    assert.equal((await each.probe(attempts)).status, 'Done');
    assert.equal((await each.circuit()).isFailed, true, String(status));
    assert.deepEqual(await each.place.ofLane(PROBE, each.one.subscriptionId), []);
  }
  await using each = await probing();
  each.consumer.reply = () => 500;
  await each.probe(LIMITS.circuitFailedProbesMax - 1);
  assert.equal((await each.circuit()).isFailed, false);
});

test('nothing is sent where the subscription was paused, resumed or deleted meanwhile', async () => {
  for (const change of [{ isActive: false, round: 2 }, { round: 2 }, { isDeleted: true, boxes: {} }]) {
    await using each = await probing();
    await each.place.change(each.one, change);
    assert.deepEqual(await each.probe(), { status: 'Done' });
    assert.deepEqual([each.consumer.got, (await each.circuit()).state], [[], 'Open']);
  }
});
