// What projections and dead letters tell, on its way into status and metrics: whose is asked for, and what is made of it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { MetricsReport } from '@tallystick/contract';
import { createFakeClock } from '../testing/fake-clock.ts';
import { testCall } from '../testing/test-call.ts';
import { createHealth } from './health.ts';
import { createLifecycle } from './lifecycle.ts';
import { createMeter } from './meter.ts';
import type { ProjectionFigures } from './projections.ts';
import { createStatus } from './status.ts';

const SEARCH: ProjectionFigures = {
  name: 'search',
  generation: 2,
  position: 17,
  lagMs: 250,
  rebuilding: false,
  pendingEvents: 3,
};
const VIOLATIONS: ProjectionFigures = { ...SEARCH, name: 'violations', lagMs: 40, pendingEvents: 0 };
const ACTIVE = { state: 'Active', deprecationDate: undefined, sunsetDate: undefined } as const;

const DELIVERIES = { queued: 9, waitingMs: 1500, openCircuits: 2, failedSubscriptions: 1 };

function build() {
  const clock = createFakeClock();
  const asked: (string | undefined)[] = [];
  const note = <T>(tenant: string | undefined, found: T): Promise<T> => {
    asked.push(tenant);
    return Promise.resolve(found);
  };
  const { operations } = createStatus({
    clock,
    health: createHealth(clock, createLifecycle()),
    meter: createMeter(clock),
    storage: {
      log: { forTenant: () => assert.fail('nobody has written') },
      tree: { forTenant: () => ({ head: () => Promise.resolve(undefined) }) },
    },
    sequencer: {
      figures: () => ({
        waitingDrafts: 5,
        commitMs: 1500,
        pressedMsAgo: 0,
        failure: { atMs: 0, error: new Error('x') },
      }),
    },
    checkpointer: { figures: () => ({ refusedTenants: 2, failure: new Error('x') }), refusalOf: () => 'why' },
    witnessing: { figures: () => ({ contradictedLogs: 3, openLogs: 4 }) },
    scrubber: { figures: () => ({ damagedLogs: 6 }) },
    build: { version: '1.2.3', commit: 'b0c3ef7' },
    versionStates: {
      v1: { ...ACTIVE, state: 'Sunset', sunsetDate: '2026-06-01T02:00:00+02:00' },
      v2: ACTIVE,
    },
    projections: {
      ofTenant: (tenant) => note(tenant, [SEARCH, VIOLATIONS]),
      ofAll: () => note(undefined, [{ ...SEARCH, lagMs: 9000, pendingEvents: 70 }]),
    },
    membership: { nodes: () => [] },
    usage: { read: () => Promise.resolve([]) },
    spans: () => ({ Exported: 7, Failed: 0, Dropped: 2 }),
    watches: {
      levels: { measureLag() {}, ofProcess: () => [], ofTenant: () => [] },
      figures: () => ({
        followers: { index: { lagMs: 1500, pendingEvents: 12 } },
        spaces: [
          { name: 'data directory', freeBytes: 4096 },
          { name: 'directory of exports', freeBytes: undefined },
        ],
        stuckKinds: 1,
        clockOffsetMs: -250,
        certificateEndsAtMs: undefined,
      }),
    },
    deadLetters: { ofTenant: (tenant) => note(tenant, 1), ofAll: () => note(undefined, 8) },
    deliveries: {
      ofTenant: () => Promise.resolve(DELIVERIES),
      ofAll: () => Promise.resolve({ ...DELIVERIES, queued: 90 }),
    },
  });
  return { operations, asked, clock };
}

const { caller } = testCall();
const ofTenant = testCall({
  caller: {
    ...caller!,
    refusal: (permission) => (permission === 'audit.platform.manage' ? 'FORBIDDEN' : undefined),
  },
});
const ofPlatform = testCall({ caller: { ...caller!, tenant: '*' } });

const valuesOf = ({ metrics }: MetricsReport, name: string) =>
  metrics.find((metric) => metric.name === `tallystick_${name}`)?.samples.map(({ value }) => value);

test('a tenant is told of its own projections and dead letters, and nobody else is asked about', async () => {
  const { operations, asked } = build();
  const { body: status } = await operations['status.get'](ofTenant);
  const { pendingEvents: _, ...search } = SEARCH;
  const { pendingEvents: __, ...violations } = VIOLATIONS;
  assert.deepEqual(status.projections, [search, violations], 'as the contract has them');
  assert.deepEqual([status.metrics.projectionLagMs, status.metrics.deadLetters], [250, 1], 'the longest lag');
  const { body: report } = await operations['metrics.get'](ofTenant);
  assert.deepEqual(valuesOf(report, 'projection_lag_seconds'), [0.25, 0.04]);
  assert.deepEqual(valuesOf(report, 'projection_pending_events'), [3, 0]);
  assert.deepEqual(valuesOf(report, 'dead_letters'), [1]);
  assert.deepEqual(valuesOf(report, 'log_refused'), [1]);
  assert.deepEqual([...new Set(asked)], ['acme']);
});

test('the platform is told of all projections, dead letters and troubles of the log', async () => {
  const { operations, asked } = build();
  const { body: report } = await operations['metrics.get'](ofPlatform);
  const told = Object.fromEntries(
    [
      'projection_lag_seconds',
      'projection_pending_events',
      'dead_letters',
      'drafts_waiting',
      'commit_age_seconds',
      'commits_failing',
      'checkpoints_failing',
      'logs_refused',
      'logs_damaged',
      'logs_contradicted',
      'logs_unwitnessed',
      'spans_total',
    ].map((name) => [name, valuesOf(report, name)?.join()]),
  );
  assert.deepEqual(told, {
    projection_lag_seconds: '9',
    projection_pending_events: '70',
    dead_letters: '8',
    drafts_waiting: '5',
    commit_age_seconds: '1.5',
    commits_failing: '1',
    checkpoints_failing: '1',
    logs_refused: '2',
    logs_damaged: '6',
    logs_contradicted: '3',
    logs_unwitnessed: '4',
    spans_total: '7,0,2',
  });
  assert.deepEqual([...new Set(asked)], [undefined]);
});

test('the status has commit, time and dates of versions where they are known', async () => {
  const { operations, clock } = build();
  clock.setNow(0);
  await clock.advance(90_061_001);
  const { body } = await operations['status.get'](ofTenant);
  assert.deepEqual([body.version, body.commit], ['1.2.3', 'b0c3ef7']);
  assert.deepEqual(
    [body.startedAt, body.uptime],
    ['2026-01-01T00:00:00.000Z', 'P1DT1H1M1S'],
    'for any time of the wall clock',
  );
  assert.deepEqual(body.apiVersions, [
    { version: 'v1', state: 'Sunset', sunsetDate: '2026-06-01T00:00:00.000Z' },
    { version: 'v2', state: 'Active' },
  ]);
});

test('deliveries are told of by what came of attempts, and by what waits', async () => {
  const { operations } = build();
  const { body } = await operations['metrics.get'](ofTenant);
  assert.deepEqual(valuesOf(body, 'deliveries_queued'), [9]);
  assert.deepEqual(valuesOf(body, 'deliveries_waiting_seconds'), [1.5]);
  assert.deepEqual(valuesOf(body, 'circuits_open'), [2]);
  assert.deepEqual(valuesOf(body, 'subscriptions_failed'), [1]);
  assert.deepEqual(valuesOf(body, 'delivery_attempts_total'), [0, 0, 0, 0, 0, 0]);
  assert.equal(valuesOf(body, 'delivery_duration_seconds'), undefined, 'of the process only');
  const all = (await operations['metrics.get'](ofPlatform)).body;
  assert.deepEqual(valuesOf(all, 'deliveries_queued'), [90]);
  assert.ok((valuesOf(all, 'delivery_duration_seconds')?.length ?? 0) > 0);
});
