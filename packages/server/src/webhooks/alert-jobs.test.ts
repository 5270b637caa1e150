import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeEntry } from '@tallystick/evidence';
import type { NewViolation } from '../alerts/violations.ts';
import type { StoredEvent } from '../streams/log.ts';
import { SubscribedStore } from '../testing/subscribed-store.ts';
import { alertJobs } from './alert-jobs.ts';
import { circuitsOnLanes } from './lane-circuits.ts';
import { readTask } from './task.ts';

const violationOf = (
  stored: StoredEvent,
  violationId: string,
  more: Partial<NewViolation> = {},
): NewViolation => ({
  violationId,
  kind: 'Violation',
  policyId: 'policy',
  policyName: 'Watch',
  policyVersion: 1,
  ruleId: 'rule',
  violationType: 'Anomaly',
  severity: 'High',
  eventId: decodeEntry(stored.entry).eventId,
  classification: 'Internal',
  highest: 'Internal',
  detectedAtMs: 0,
  ...more,
});

function jobsOf(place: SubscribedStore, violations: readonly NewViolation[], events: readonly StoredEvent[]) {
  const { known: subscriptions, store, tenant } = place;
  const { tenants } = store.access;
  const circuits = circuitsOnLanes(store.storage.work);
  return alertJobs(tenant, violations, events, { subscriptions, tenants, circuits, nextId: store.nextId });
}

test('each violation is a delivery to those who ask for its kind, at the place of its event', async () => {
  await using place = await SubscribedStore.open();
  const violations = await place.subscribe({ eventTypes: ['PolicyViolated'], ordered: true });
  const thresholds = await place.subscribe({
    eventTypes: ['ThresholdExceeded'],
    filters: { action: 'No.Such' },
  });
  await place.subscribe({ eventTypes: ['PolicyViolated'], filters: { action: 'No.Such' } });
  const [first, second] = await place.events({}, {});
  const raised = [violationOf(first!, 'one'), violationOf(second!, 'two', { kind: 'Threshold' })];
  const jobs = await jobsOf(place, raised, [first!, second!]);
  assert.deepEqual(
    jobs.map(({ lane, place: at, body }) => [lane, at, readTask(body).webhookType, readTask(body).source]),
    [
      [
        violations.subscriptionId,
        first!.index + 1,
        'policy.violated',
        { of: 'Violation', violationId: 'one' },
      ],
      [thresholds.subscriptionId, undefined, 'threshold.exceeded', { of: 'Violation', violationId: 'two' }],
    ],
  );
});

test('where nobody asks, or the event is not among those that were taken, nothing is owed', async () => {
  await using place = await SubscribedStore.open();
  const [first, second] = await place.events({}, {});
  assert.deepEqual(await jobsOf(place, [violationOf(first!, 'one')], [first!]), []);
  await place.subscribe();
  assert.equal((await jobsOf(place, [violationOf(first!, 'one')], [first!])).length, 1);
  assert.deepEqual(await jobsOf(place, [violationOf(first!, 'one')], [second!]), []);
  assert.deepEqual(await jobsOf(place, [], [first!]), []);
});
