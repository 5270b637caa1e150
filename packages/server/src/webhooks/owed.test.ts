import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KINDS } from '@tallystick/evidence';
import { entryOf } from '../followers/entry-of.ts';
import { SubscribedStore } from '../testing/subscribed-store.ts';
import { circuitsOnLanes, failedForGood } from './lane-circuits.ts';
import { jobOf, jobsFor, owedFor, owedForViolation } from './owed.ts';
import { Subscribers } from './subscribers.ts';
import { readTask } from './task.ts';

test('an event is owed to those whom it matches, and its notice to nobody', async () => {
  await using place = await SubscribedStore.open();
  const { subscriptionId } = await place.subscribe({ filters: { action: 'Delete.*' } });
  await place.subscribe({ filters: { action: 'Read.*' } });
  const subscribers = new Subscribers(
    (await place.known.of(place.tenant)).values(),
    await place.tenantRecord(),
  );
  const [event] = await place.events({});
  const [notice] = await place.log(0, 1);
  const [owed, ...others] = owedFor(event!, subscribers);
  assert.deepEqual([owed?.subscription.subscriptionId, others], [subscriptionId, []]);
  assert.deepEqual(
    [owed?.webhookType, owed?.source],
    ['event.notification', { of: 'Event', index: event!.index }],
  );
  assert.deepEqual(owedFor(notice!, subscribers), []);
});

test('for an entry that somebody has altered nothing is owed, and that is said', async () => {
  await using place = await SubscribedStore.open();
  const subscribers = new Subscribers([await place.subscribe()], await place.tenantRecord());
  const [event] = await place.events({});
  const faults: string[] = [];
  const note = (fault: string) => void faults.push(fault);
  assert.deepEqual(owedFor({ ...event!, entry: event!.entry.subarray(0, 52) }, subscribers, note), []);
  assert.deepEqual(owedFor({ ...event!, content: { fault: 'its hash is another' } }, subscribers, note), []);
  assert.equal(faults.length, 2);
  assert.equal(faults[1], 'its hash is another');
});

test('a sealed stream is told of as it was sealed', async () => {
  await using place = await SubscribedStore.open();
  const asking = await place.subscribe({ eventTypes: ['EventStreamSealed'] });
  const subscribers = new Subscribers([asking], await place.tenantRecord());
  // The store of these tests seals a stream of so many entries.
  await place.events(...Array.from({ length: 1000 }, () => ({})));
  const entries = await place.log(0, 1010);
  const seal = entries.find((stored) => {
    const entry = entryOf(stored);
    return 'kind' in entry && entry.kind === KINDS.streamSeal;
  })!;
  const [owed, ...others] = owedFor(seal, subscribers);
  assert.deepEqual([owed?.webhookType, others], ['system.event', []]);
  const { source } = owed!;
  assert.ok(source.of === 'System');
  const { kind, previousStatus, status, streamId } = source.change;
  assert.deepEqual([kind, previousStatus, status], ['EventStreamSealed', 'Open', 'Sealed']);
  assert.equal(streamId, entries[1]!.streamId);
});

test('a violation is owed by the filters on its event, and a threshold whatever they are', async () => {
  await using place = await SubscribedStore.open();
  const asking = await place.subscribe({ filters: { action: 'Read.*' } });
  const subscribers = new Subscribers([asking], await place.tenantRecord());
  const [deleted, read] = await place.events({}, { action: 'Read.Invoice' });
  const of = (kind: 'Violation' | 'Threshold', stored: typeof deleted) =>
    owedForViolation({ kind, violationId: 'one' }, stored!, subscribers).map(
      ({ webhookType }) => webhookType,
    );
  assert.deepEqual([of('Violation', deleted), of('Violation', read)], [[], ['policy.violated']]);
  assert.deepEqual(of('Threshold', deleted), ['threshold.exceeded']);
});

test('a delivery has one id however often it is owed, and a place only where the order counts', async () => {
  await using place = await SubscribedStore.open();
  const [plain, ordered] = [await place.subscribe(), await place.subscribe({ ordered: true })];
  const subscribers = new Subscribers([plain, ordered], await place.tenantRecord());
  const [event, next] = await place.events({}, {});
  const jobsOf = (stored: typeof event) =>
    owedFor(stored!, subscribers).map((each) => jobOf(place.tenant, each, place.store.nextId()));
  const [first, second] = jobsOf(event);
  assert.deepEqual([first!.lane, second!.lane], [plain.subscriptionId, ordered.subscriptionId]);
  assert.deepEqual([first!.place, second!.place], [undefined, event!.index + 1]);
  assert.deepEqual(
    jobsOf(event).map(({ uniqueKey }) => uniqueKey),
    [first!.uniqueKey, second!.uniqueKey],
  );
  assert.equal(new Set([...jobsOf(event), ...jobsOf(next)].map(({ uniqueKey }) => uniqueKey)).size, 4);
  assert.equal(readTask(first!.body).webhookId, first!.uniqueKey);
});

test('for a subscription that has failed nothing is queued, until it is resumed', async () => {
  await using place = await SubscribedStore.open();
  const [good, bad] = [await place.subscribe(), await place.subscribe()];
  const [event] = await place.events({});
  const jobsNow = async () => {
    const all = await place.known.latest(place.tenant);
    const owed = owedFor(event!, new Subscribers(all.values(), await place.tenantRecord()));
    const circuits = circuitsOnLanes(place.store.storage.work);
    const jobs = await jobsFor(place.tenant, owed, { circuits, nextId: place.store.nextId });
    return new Set(jobs.map(({ lane }) => lane));
  };
  const both = new Set([good.subscriptionId, bad.subscriptionId]);
  assert.deepEqual(await jobsNow(), both);
  const { kind, lane, ...closing } = failedForGood(bad);
  assert.ok(closing.status === 'Closes');
  await place.jobs.changeLane({ kind, lane }, closing);
  assert.deepEqual(await jobsNow(), new Set([good.subscriptionId]));
  await place.change(bad, { round: 2 });
  assert.deepEqual(await jobsNow(), both);
});
