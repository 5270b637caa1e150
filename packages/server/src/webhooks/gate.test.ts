import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SubscribedStore } from '../testing/subscribed-store.ts';
import type { JobOutcome } from '../work/jobs.ts';
import { gateWork } from './gate.ts';
import { GATE, gateJob, laneOf, noteOf, PROBE } from './lane-circuits.ts';
import type { SubscriptionRecord } from './subscription.ts';
import { DELIVERY } from './task.ts';

/** The gate of a store: its job is enqueued, claimed and done. */
async function gating() {
  const place = await SubscribedStore.open();
  const { storage, nextId } = place.store;
  const woken: string[] = [];
  const work = gateWork({
    subscriptions: place.known,
    work: storage.work,
    wakeDeliverer: () => void woken.push('woken'),
  });
  const lane = async ({ subscriptionId }: SubscriptionRecord) => {
    const [found] = await place.jobs.lanes(DELIVERY, [subscriptionId]);
    return { isOpen: found!.isOpen, note: found!.note };
  };
  return {
    place,
    woken,
    lane,
    close: (one: SubscriptionRecord, note: string) =>
      place.jobs.changeLane(laneOf(one.subscriptionId), { status: 'Closes', note }),
    async pass({ subscriptionId }: SubscriptionRecord): Promise<JobOutcome> {
      await place.jobs.enqueue(gateJob(subscriptionId, nextId()));
      const [claim] = await place.claim(GATE);
      const { signal } = new AbortController();
      const outcome = await work.handle(claim!.job, { signal, progress: () => {} });
      await place.finish(claim!, { status: 'Done' });
      return outcome;
    },
    [Symbol.asyncDispose]: () => place[Symbol.asyncDispose](),
  };
}

test('the lane of a paused subscription is closed, unless it is already', async () => {
  await using gate = await gating();
  const one = await gate.place.subscribe();
  const paused = await gate.place.change(one, { isActive: false, round: 2 });
  assert.deepEqual(await gate.pass(paused), { status: 'Done' });
  const note = noteOf({ round: 2, state: 'Paused' });
  assert.deepEqual(await gate.lane(one), { isOpen: false, note });
  const other = await gate.place.subscribe({ isActive: false });
  const before = noteOf({ round: 1, state: 'Failed' });
  await gate.close(other, before);
  await gate.pass(other);
  assert.deepEqual(await gate.lane(other), { isOpen: false, note: before });
  assert.deepEqual(gate.woken, []);
});

test('resuming opens what an older round has closed, and nothing that the present one has', async () => {
  await using gate = await gating();
  const one = await gate.place.subscribe({ round: 2 });
  await gate.close(one, noteOf({ round: 1, state: 'Paused' }));
  assert.deepEqual(await gate.pass(one), { status: 'Done' });
  assert.deepEqual([(await gate.lane(one)).isOpen, gate.woken], [true, ['woken']]);
  await gate.pass(one);
  assert.equal(gate.woken.length, 1, 'it was open already');
  const open = noteOf({ round: 2, state: 'Open' });
  await gate.close(one, open);
  await gate.pass(one);
  assert.deepEqual(await gate.lane(one), { isOpen: false, note: open });
});

test('what is owed to a deleted subscription is removed, a portion at a time, and its test delivery too', async () => {
  await using gate = await gating();
  const { place } = gate;
  const [one, other] = [await place.subscribe(), await place.subscribe()];
  const of = ({ subscriptionId: lane }: SubscriptionRecord, kind: 'Delivery' | 'Probe') => ({
    kind,
    lane,
    body: '{}',
  });
  const many = Array.from({ length: 1500 }, () => ({ ...of(one, DELIVERY), jobId: place.store.nextId() }));
  await place.jobs.enqueueAll(many);
  await place.enqueue(of(one, PROBE));
  await place.enqueue(of(other, DELIVERY));
  await place.change(one, { isDeleted: true, boxes: {} });
  const first = await gate.pass(one);
  assert.equal(first.status, 'PutOff', 'others have their turn meanwhile');
  let passes = 1;
  while ((await gate.pass(one)).status !== 'Done') assert.ok((passes += 1) < 20);
  assert.deepEqual(await place.ofLane(DELIVERY, one.subscriptionId), []);
  assert.deepEqual(await place.ofLane(PROBE, one.subscriptionId), []);
  assert.equal((await place.ofLane(DELIVERY, other.subscriptionId)).length, 1);
});
