import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LIMITS } from '@tallystick/contract';
import { SubscribedStore } from '../testing/subscribed-store.ts';
import type { LaneNews } from '../work/lanes.ts';
import { standingOf } from './circuits.ts';
import {
  circuitsOnLanes,
  failed,
  failedAmong,
  failedForGood,
  laneOf,
  noteOf,
  PROBE,
} from './lane-circuits.ts';
import type { SubscriptionRecord } from './subscription.ts';
import { DELIVERY } from './task.ts';

const { circuitFailuresMax, circuitCooldownMs } = LIMITS;

/** One delivery to it ends with this news of its lane. */
async function tell(place: SubscribedStore, { subscriptionId: lane }: SubscriptionRecord, news: LaneNews) {
  await place.enqueue({ kind: DELIVERY, lane, body: '{}' });
  const [claim] = await place.claim(DELIVERY);
  await place.finish(claim!, { status: 'Done', lanes: [news] });
}

/** News is told of while there is a delivery that ends: an open circuit has none. */
async function failures(
  place: SubscribedStore,
  subscription: SubscriptionRecord,
  count: number,
  timeScale = 1,
) {
  const { nextId } = place.store;
  for (let i = 0; i < count; i++)
    await tell(place, subscription, failed(subscription, { nextId, timeScale }));
}

async function circuitOf(place: SubscribedStore, { subscriptionId }: SubscriptionRecord) {
  const found = await circuitsOnLanes(place.store.storage.work).find(place.tenant, [subscriptionId]);
  return found.get(subscriptionId)!;
}

test('ten failures in a row open a circuit, and a success among them begins anew', async () => {
  await using place = await SubscribedStore.open();
  const one = await place.subscribe();
  assert.deepEqual(standingOf(one, await circuitOf(place, one)).circuit, {
    state: 'Closed',
    consecutiveFailures: 0,
  });
  await failures(place, one, circuitFailuresMax - 1);
  await tell(place, one, { ...laneOf(one.subscriptionId), status: 'Works' });
  await failures(place, one, circuitFailuresMax - 1);
  const before = await circuitOf(place, one);
  assert.deepEqual([before.state, before.consecutiveFailures], ['Closed', circuitFailuresMax - 1]);
  assert.deepEqual(await place.ofLane(PROBE, one.subscriptionId), []);
  await failures(place, one, 1);
  const open = await circuitOf(place, one);
  assert.deepEqual([open.state, open.round, open.consecutiveFailures], ['Open', 1, circuitFailuresMax]);
  const restMs = open.nextAttemptAtMs! - open.openedAtMs!;
  assert.ok(Math.abs(restMs - circuitCooldownMs) < 1000, `${restMs} ms`);
  assert.equal(standingOf(one, open).status, 'Paused');
  // What is owed to it waits, and costs no claim.
  await place.enqueue({ kind: DELIVERY, lane: one.subscriptionId, body: '{}' });
  assert.deepEqual(await place.claim(DELIVERY), []);
});

test('the circuit is half open while the test delivery is out', async () => {
  await using place = await SubscribedStore.open();
  const one = await place.subscribe();
  await failures(place, one, circuitFailuresMax, 0);
  const [probe] = await place.claim(PROBE);
  assert.equal(probe!.job.lane, one.subscriptionId);
  const circuit = await circuitOf(place, one);
  assert.deepEqual([circuit.state, circuit.nextAttemptAtMs], ['HalfOpen', undefined]);
});

test('what was found out in an older round counts no more', async () => {
  await using place = await SubscribedStore.open();
  const [one, other] = [await place.subscribe(), await place.subscribe()];
  await failures(place, one, circuitFailuresMax);
  const circuit = await circuitOf(place, one);
  assert.equal(standingOf({ ...one, round: 2 }, circuit).status, 'Active');
  await tell(place, other, failedForGood(other));
  const circuits = circuitsOnLanes(place.store.storage.work);
  const among = (all: readonly SubscriptionRecord[]) => failedAmong(circuits, place.tenant, all);
  assert.deepEqual([...(await among([one, other]))], [other.subscriptionId]);
  assert.deepEqual([...(await among([{ ...other, round: 2 }]))], []);
  assert.equal(standingOf(other, await circuitOf(place, other)).status, 'Failed');
});

test('it fails for good only if it is closed for the reason that was known', async () => {
  await using place = await SubscribedStore.open();
  const one = await place.subscribe();
  const note = noteOf({ round: 1, state: 'Open' });
  const giveUp = async () => {
    const { kind, lane, ...news } = failedForGood(one, note);
    assert.ok(news.status === 'Closes');
    return place.jobs.changeLane({ kind, lane }, news);
  };
  assert.equal(await giveUp(), false, 'its circuit is closed');
  await failures(place, one, circuitFailuresMax);
  assert.equal(await giveUp(), true);
  assert.equal((await circuitOf(place, one)).isFailed, true);
});

test('a caller who pauses opens no circuit', async () => {
  await using place = await SubscribedStore.open();
  const one = await place.subscribe();
  const paused = noteOf({ round: 2, state: 'Paused' });
  await place.jobs.changeLane(laneOf(one.subscriptionId), { status: 'Closes', note: paused });
  assert.equal((await circuitOf(place, one)).state, 'Closed');
  assert.equal((await circuitsOnLanes(place.store.storage.work).find(place.tenant, [])).size, 0);
});
