import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HealthReport } from '@tallystick/contract';
import { createFakeClock } from '../testing/fake-clock.ts';
import type { NewJob } from '../work/jobs.ts';
import { startStatusWatch, type StatusWatchParts } from './status-watch.ts';
import type { SubscriptionRecord } from './subscription.ts';
import { readTask } from './task.ts';

const SUBSCRIPTION = { tenantId: 'acme', round: 3, ordered: false, eventTypes: ['SystemStatusChanged'] };
const of = (tenantId: string, subscriptionId: string, more: object = {}) =>
  ({ ...SUBSCRIPTION, tenantId, subscriptionId, ...more }) as unknown as SubscriptionRecord;

const SUBSCRIPTIONS: readonly SubscriptionRecord[] = [
  of('acme', 'one'),
  of('acme', 'failed'),
  of('acme', 'resumed'),
  of('acme', 'other', { eventTypes: ['EventStreamSealed'] }),
  of('unreadable', 'two'),
  of('second', 'three', { eventTypes: ['*'], ordered: true }),
];
const closedFor = (round: number) => ({ round, state: 'Closed', consecutiveFailures: 0, isFailed: true });

function reportOf(status: HealthReport['status'], storage: HealthReport['status']): HealthReport {
  return { status, totalDuration: '00:00:00', entries: { storage: { status: storage } } };
}

/** The watch of a node, whose store is a list, and what its lanes note. */
function watching(lanes = new Map<string, string>()) {
  const clock = createFakeClock();
  const jobs: NewJob[] = [];
  const watched = { report: reportOf('Healthy', 'Healthy'), isUnreadable: true, errors: 0, wakes: 0 };
  let last = 0;
  const parts = {
    report: async () => watched.report,
    records: { all: async () => SUBSCRIPTIONS.map(({ tenantId }) => ({ owner: tenantId })) },
    subscriptions: {
      async of(tenant: string) {
        if (tenant === 'unreadable' && watched.isUnreadable) throw new Error('somebody has altered it');
        const own = SUBSCRIPTIONS.filter(({ tenantId }) => tenantId === tenant);
        return new Map(own.map((each) => [each.subscriptionId, each]));
      },
    },
    circuits: {
      find: async () =>
        new Map([
          ['failed', closedFor(3)],
          ['resumed', closedFor(2)],
        ]),
    },
    work: {
      forTenant: (tenant: string) => ({
        async enqueueAll(some: NewJob[]) {
          const isNew = ({ uniqueKey }: NewJob) => jobs.every((job) => job.uniqueKey !== uniqueKey);
          jobs.push(...some.filter(isNew).map((job) => ({ ...job, tenant })));
        },
        lanes: async (_: string, [name]: string[]) => {
          const note = lanes.get(name!);
          return [{ isOpen: note === undefined, note }];
        },
        async changeLane(
          { lane }: { lane: string },
          { status, note = '' }: { status: string; note?: string },
        ) {
          if (status === 'Closes') lanes.set(lane, note);
          else lanes.delete(lane);
        },
      }),
    },
    node: 'one',
    clock,
    random: { fraction: () => 0 },
    nextId: () => `job-${++last}`,
    wake: () => watched.wakes++,
    telemetry: { error: () => watched.errors++ },
  };
  return { clock, jobs, watched, loop: startStatusWatch(parts as unknown as StatusWatchParts) };
}

const toldIn = (jobs: readonly NewJob[]) =>
  jobs.map(({ tenant, lane, body }) => {
    const { source } = readTask(body);
    assert.ok(source.of === 'System');
    const { kind, component, previousStatus, status } = source.change;
    return [tenant, lane, kind, component, previousStatus, status].join(' ');
  });

test('a change is told of once to all who ask for it, but not to those that have failed', async () => {
  const { clock, jobs, watched, loop } = watching();
  await clock.advance(20_000);
  assert.deepEqual(jobs, [], 'what it finds first is no change');
  watched.report = reportOf('Degraded', 'Unhealthy');
  await clock.advance(20_000);
  const changes = ['service Healthy Degraded', 'storage Healthy Unhealthy'];
  const expected = ['acme one', 'acme resumed', 'second three'].flatMap((to) =>
    changes.map((change) => `${to} SystemStatusChanged ${change}`),
  );
  assert.deepEqual(toldIn(jobs), expected);
  assert.ok(watched.wakes > 0);
  assert.ok(jobs.every(({ place }) => place === undefined || place > 0));
  await loop[Symbol.asyncDispose]();
});

test('a change across a restart is told once, whether it is for worse or for better', async () => {
  const lanes = new Map<string, string>();
  const told = async (report: HealthReport) => {
    const { clock, jobs, watched, loop } = watching(lanes);
    Object.assign(watched, { report, isUnreadable: false });
    await clock.advance(30_000);
    await loop[Symbol.asyncDispose]();
    return toldIn(jobs)
      .filter((each) => each.startsWith('acme one'))
      .map((each) => each.split(' ').slice(3).join(' '));
  };
  assert.deepEqual(await told(reportOf('Healthy', 'Healthy')), []);
  assert.deepEqual(await told(reportOf('Degraded', 'Degraded')), [
    'service Healthy Degraded',
    'storage Healthy Degraded',
  ]);
  assert.deepEqual(await told(reportOf('Degraded', 'Degraded')), []);
  assert.deepEqual(await told(reportOf('Healthy', 'Healthy')), [
    'service Degraded Healthy',
    'storage Degraded Healthy',
  ]);
  assert.deepEqual(await told(reportOf('Healthy', 'Healthy')), []);
  lanes.set('one', 'no states');
  assert.deepEqual(await told(reportOf('Healthy', 'Healthy')), [], 'what cannot be read says nothing');
});

test('a tenant that cannot be told holds up no other, and is told of all once it can be', async () => {
  const { clock, jobs, watched, loop } = watching();
  await clock.advance(20_000);
  watched.report = reportOf('Degraded', 'Unhealthy');
  for (let i = 0; i < 90; i++) await clock.advance(1000);
  watched.report = reportOf('Degraded', 'Healthy');
  for (let i = 0; i < 90; i++) await clock.advance(1000);
  const changes = ['service Healthy Degraded', 'storage Healthy Unhealthy', 'storage Unhealthy Healthy'];
  const ofOne = (to: string) =>
    toldIn(jobs)
      .filter((each) => each.startsWith(to))
      .map((each) => each.split(' ').slice(3).join(' '));
  assert.deepEqual(ofOne('acme one'), changes);
  assert.deepEqual(ofOne('unreadable'), []);
  assert.ok(watched.errors > 0);
  watched.isUnreadable = false;
  for (let i = 0; i < 60; i++) await clock.advance(1000);
  assert.deepEqual(ofOne('unreadable'), changes);
  assert.deepEqual(ofOne('acme one'), changes);

  watched.isUnreadable = true;
  watched.report = reportOf('Healthy', 'Healthy');
  for (let i = 0; i < 700; i++) await clock.advance(1000);
  const { errors } = watched;
  for (let i = 0; i < 100; i++) await clock.advance(1000);
  assert.equal(watched.errors, errors, 'it is given up after ten minutes');
  await loop[Symbol.asyncDispose]();
});

test('nodes that see it in the same minute make one delivery of it; a later one is another', async () => {
  const keys = async (waitMs: number) => {
    const { clock, jobs, watched, loop } = watching();
    await clock.advance(10_000 + waitMs);
    watched.report = reportOf('Healthy', 'Degraded');
    await clock.advance(5000);
    await loop[Symbol.asyncDispose]();
    return jobs.map(({ uniqueKey }) => uniqueKey);
  };
  const [here, there, later] = [await keys(0), await keys(10_000), await keys(60_000)];
  assert.equal(new Set(here).size, 3);
  assert.deepEqual(here, there);
  assert.equal(new Set([...here, ...later]).size, 6);
});

test('a change that comes again within the minute is told again', async () => {
  const { clock, jobs, watched, loop } = watching();
  watched.isUnreadable = false;
  await clock.advance(10_000);
  for (const status of ['Degraded', 'Healthy', 'Degraded', 'Healthy', 'Degraded'] as const) {
    watched.report = reportOf('Healthy', status);
    await clock.advance(8000);
  }
  await loop[Symbol.asyncDispose]();
  const ofOne = toldIn(jobs).filter((each) => each.startsWith('acme one'));
  assert.equal(ofOne.length, 5);
  assert.match(ofOne.at(-1)!, / Healthy Degraded$/);
});
