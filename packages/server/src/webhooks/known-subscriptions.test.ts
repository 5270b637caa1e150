import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SubscribedStore } from '../testing/subscribed-store.ts';
import { KnownSubscriptions } from './known-subscriptions.ts';

test('those that are not deleted are known, as the same map while nothing changes', async () => {
  await using place = await SubscribedStore.open();
  const { known, store, tenant } = place;
  const [kept, gone] = [await place.subscribe(), await place.subscribe()];
  await place.change(gone, { isDeleted: true, boxes: {} });
  const first = await known.of(tenant);
  assert.deepEqual([...first.values()], [kept]);
  await store.clock.advance(1000);
  assert.equal(await known.of(tenant), first);
  assert.equal(await known.latest(tenant), first);
  assert.equal((await known.of('other')).size, 0);
});

test('a change is known after a moment, and at once where the latest is asked for', async () => {
  await using place = await SubscribedStore.open();
  const { known, store, tenant } = place;
  const made = await place.subscribe();
  const nameNow = async (how: 'of' | 'latest') => (await known[how](tenant)).get(made.subscriptionId)?.name;
  assert.equal(await nameNow('of'), 'SIEM');
  const second = await place.change(made, { name: 'second' });
  assert.equal(await nameNow('of'), 'SIEM');
  await store.clock.advance(50);
  assert.equal(await nameNow('of'), 'second');
  await place.change(second, { name: 'third' });
  assert.equal(await nameNow('of'), 'second');
  assert.equal(await nameNow('latest'), 'third');
});

test('many who ask at the same time are one reading, and one that fails is not remembered', async () => {
  await using place = await SubscribedStore.open();
  const { store, tenant } = place;
  const made = await place.subscribe();
  const { subscriptions } = store.access;
  let readings = 0;
  const known = new KnownSubscriptions({
    records: store.storage.records,
    clock: store.clock,
    subscriptions: {
      all: (owner) => ((readings += 1) === 1 ? Promise.reject(new Error('away')) : subscriptions.all(owner)),
    },
  });
  await assert.rejects(known.of(tenant), /away/);
  const found = await Promise.all([known.of(tenant), known.of(tenant), known.latest(tenant)]);
  assert.deepEqual(
    found.map((each) => [...each.keys()]),
    [[made.subscriptionId], [made.subscriptionId], [made.subscriptionId]],
  );
  assert.equal(readings, 2);
});
