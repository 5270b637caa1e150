import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SubscribedStore } from '../testing/subscribed-store.ts';
import { makePolicy } from '../testing/policy-store.ts';
import { Subscribers } from './subscribers.ts';
import type { SubscriptionRecord } from './subscription.ts';

const LARGE = { 'payload.amount': { gt: 100 } };
const OF_SECRET = { clearance: 'Secret', author: { roles: ['Admin'], clearance: 'Secret' } } as const;

const namesOf = (subscriptions: readonly SubscriptionRecord[]) =>
  subscriptions.map(({ name }) => name).toSorted();

test('each is told of what it asks for', async () => {
  await using place = await SubscribedStore.open();
  const all = [
    await place.subscribe({ name: 'all' }),
    await place.subscribe({ name: 'events', eventTypes: ['event.notification'] }),
    await place.subscribe({ name: 'violations', eventTypes: ['PolicyViolated', 'ThresholdExceeded'] }),
  ];
  const subscribers = new Subscribers(all, await place.tenantRecord());
  const [event] = await place.events({});
  assert.deepEqual(namesOf(subscribers.matching('AuditEventReceived', event!)), ['all', 'events']);
  assert.deepEqual(namesOf(subscribers.matching('PolicyViolated', event!)), ['all', 'violations']);
  assert.deepEqual(namesOf(subscribers.of('ThresholdExceeded')), ['all', 'violations']);
  assert.deepEqual(namesOf(subscribers.of('EventStreamSealed')), ['all']);
});

test('filters match the event as the subscription sees it', async () => {
  await using place = await SubscribedStore.open();
  const all = [
    await place.subscribe({ name: 'large', filters: LARGE }),
    await place.subscribe({ name: 'deleted', filters: { action: 'Delete.*' } }),
    await place.subscribe({ name: 'large, cleared', filters: LARGE, ...OF_SECRET }),
    await place.subscribe({ name: 'lowered', ...OF_SECRET, clearance: 'Internal', filters: LARGE }),
  ];
  const subscribers = new Subscribers(all, await place.tenantRecord());
  const payload = { amount: 101 };
  const told = async (event: object) => {
    const [stored] = await place.events({ ...event });
    return namesOf(subscribers.matching('AuditEventReceived', stored!));
  };
  assert.deepEqual(await told({ payload }), ['deleted', 'large', 'large, cleared', 'lowered']);
  assert.deepEqual(await told({ payload: { amount: 100 }, action: 'Read.Invoice' }), []);
  // Its content is withheld below its classification, and so it is below that of a secret event that there is one.
  assert.deepEqual(await told({ payload, classification: 'Confidential' }), ['deleted', 'large, cleared']);
  assert.deepEqual(await told({ payload, classification: 'Secret' }), ['large, cleared']);
});

test('what an Access rule denies to the author matches nothing of theirs', async () => {
  await using place = await SubscribedStore.open();
  const all = [
    await place.subscribe({ name: 'denied' }),
    await place.subscribe({ name: 'other', ...OF_SECRET }),
  ];
  await makePolicy(place.store, place.tenant, 'Access', {
    policyType: 'Access',
    rules: [{ conditions: { action: 'Delete.*' }, effect: { access: 'Deny', roles: ['Operator'] } }],
  });
  const subscribers = new Subscribers(all, await place.tenantRecord());
  const [deleted, read] = await place.events({}, { action: 'Read.Invoice' });
  assert.deepEqual(namesOf(subscribers.matching('AuditEventReceived', deleted!)), ['other']);
  assert.deepEqual(namesOf(subscribers.matching('AuditEventReceived', read!)), ['denied', 'other']);
});

test('a notice, and an event whose content is gone, match nothing', async () => {
  await using place = await SubscribedStore.open();
  const subscribers = new Subscribers([await place.subscribe()], await place.tenantRecord());
  const [notice] = await place.log(0, 1);
  assert.deepEqual(subscribers.matching('AuditEventReceived', notice!), []);
  const [event] = await place.events({});
  assert.equal(subscribers.matching('AuditEventReceived', event!).length, 1);
  assert.deepEqual(subscribers.matching('AuditEventReceived', { ...event!, content: undefined }), []);
});
