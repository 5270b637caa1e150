// Misses of the levels of service, as subscribers hear of them: from a real service whose queries are slow, and from several nodes on one
// real store under a clock that the test moves.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { Notification, ServiceLevel, ServiceStatus } from '@tallystick/contract';
import { systemClock, wait } from '../runtime/clock.ts';
import { createSystemRandom } from '../runtime/random.ts';
import { nextId, STREAMS } from '../storage/conformance/claims.ts';
import { openSqliteStorage } from '../storage/sqlite/sqlite-storage.ts';
import { adminCaller } from '../testing/admin-caller.ts';
import { EVENT_ID } from '../testing/bound-operations.ts';
import { Consumer } from '../testing/consumer.ts';
import { consuming } from '../testing/consuming.ts';
import { DELIVERING } from '../testing/delivering-app.ts';
import { createFakeClock } from '../testing/fake-clock.ts';
import { startTestApp } from '../testing/test-app.ts';
import { until } from '../testing/until.ts';
import { type LevelWatchParts, startLevelWatch } from './level-watch.ts';
import { readTask } from './task.ts';

const folder = mkdtempSync(join(tmpdir(), 'tallystick-levels-'));
after(() => rmSync(folder, { recursive: true }));

/** What it is about, without what differs each time. */
function plain(body: Notification): string {
  if (body.webhookType === 'threshold.exceeded') {
    const { name, threshold, window, severity, groupKey } = body.threshold;
    return [body.webhookType, name, threshold, window, severity, groupKey].join(' ');
  }
  assert.ok(body.webhookType === 'system.event');
  const { component, previousStatus, status } = body.system;
  return [body.webhookType, component, previousStatus, status].join(' ');
}

test('slow queries are a miss that subscribers are told of, with what was seen, and of its end; the status has it, too', async () => {
  const moved = { byMs: 0 };
  const clock = {
    ...systemClock,
    now: () => systemClock.now() + moved.byMs,
    monotonicNs: () => systemClock.monotonicNs() + moved.byMs * 1e6,
  };
  await using consumer = await Consumer.start();
  await using app = await startTestApp(DELIVERING, {
    clock,
    levelPaceMs: 50,
    operations: {
      'events.get': async () => {
        await wait(systemClock, 600);
        return { kind: 'Done', body: {} as never };
      },
    },
  });
  const eventTypes = ['ThresholdExceeded', 'SystemStatusChanged'];
  await consuming(app, 'acme', consumer, { eventTypes });
  const platform = adminCaller(app, 'acme');
  const levelOf = async (name: ServiceLevel['name']): Promise<ServiceLevel> => {
    const { text } = await platform.get('/api/v1/status');
    return (JSON.parse(text) as ServiceStatus).serviceLevels.find((level) => level.name === name)!;
  };
  const before = await levelOf('QueryLatencyP95');
  assert.deepEqual(before, { name: 'QueryLatencyP95', unit: 'Milliseconds', target: 200, window: 'PT6M' });
  await Promise.all(Array.from({ length: 120 }, () => platform.get(`/api/v1/audit-events/${EVENT_ID}`)));
  const during = await levelOf('QueryLatencyP95');
  assert.deepEqual([during.holds, during.current! > 500], [false, true], JSON.stringify(during));

  const ofQueries = () =>
    consumer.got.filter(({ text }) => text.includes('QueryLatency')).map(({ body }) => body);
  await until(() => ofQueries().length >= 4);
  const misses = ['P95 200', 'P99 500'].map((each) => `threshold.exceeded QueryLatency${each} PT6M High `);
  const changes = ['P95', 'P99'].map((each) => `system.event serviceLevel.QueryLatency${each}`);
  assert.deepEqual(
    ofQueries().map(plain).toSorted(),
    [...changes.map((each) => `${each} Healthy Degraded`), ...misses].toSorted(),
  );
  for (const body of ofQueries())
    if (body.webhookType === 'threshold.exceeded') assert.ok(body.threshold.observedValue > 500);

  // Nobody has asked for anything in the last minutes, and then no node has confirmed it for a minute.
  moved.byMs += 600_000;
  for (let i = 0; i < 100 && ofQueries().length < 6; i++) {
    await wait(systemClock, 1000);
    moved.byMs += 61_000;
  }
  assert.deepEqual(
    ofQueries().slice(4).map(plain).toSorted(),
    changes.map((each) => `${each} Degraded Healthy`),
  );
  assert.equal((await levelOf('QueryLatencyP95')).holds, undefined);
});

test('several nodes make one miss of it, which ends when it holds for all, also when those that told of it are gone', async () => {
  const clock = createFakeClock(Date.now());
  const random = createSystemRandom();
  const options = { logOrigin: 'levels.test', streams: STREAMS, clock, random, onFatal: assert.fail };
  await using storage = await openSqliteStorage({
    ...options,
    directory: folder,
    threads: false,
    exclusive: true,
  });
  const subscription = { tenantId: 'acme', subscriptionId: 'one', eventTypes: ['*'], round: 0 };
  const jobs = storage.work.forTenant('acme');
  const told = async () => {
    const rows = await jobs.jobsOfLane({
      kind: 'Delivery',
      lane: 'one',
      way: 'Rising',
      beyond: undefined,
      limit: 100,
    });
    return rows.map(({ body }) => {
      const { source } = readTask(body);
      if (source.of === 'Level') return `${source.crossing.name} ${source.crossing.observedValue}`;
      assert.ok(source.of === 'System');
      return `${source.change.previousStatus} ${source.change.status}`;
    });
  };
  const startNode = (level: { holds: boolean; current: number }) =>
    startLevelWatch({
      levels: {
        measureLag() {},
        ofProcess: () => [
          { name: 'IngestLatencyP95', unit: 'Milliseconds', target: 500, window: 'PT6M', ...level },
        ],
      },
      records: { all: async () => [{ owner: 'acme' }] },
      subscriptions: { of: async () => new Map([['one', subscription]]) },
      circuits: { find: async () => new Map() },
      work: storage.work,
      clock,
      random,
      nextId,
      wake() {},
      telemetry: { info() {}, warn() {}, error: assert.fail },
    } as unknown as LevelWatchParts);
  const advance = async (seconds: number) => {
    for (let i = 0; i < seconds; i++) await clock.advance(1000);
  };
  const missed = ['Healthy Degraded', 'IngestLatencyP95 700'];
  const [one, two] = [
    { holds: false, current: 700 },
    { holds: true, current: 100 },
  ];
  const first = startNode(one);
  const second = startNode(two);
  await advance(9);
  assert.deepEqual(await told(), [], 'a moment is no miss');
  await advance(20);
  assert.deepEqual((await told()).toSorted(), missed);
  Object.assign(two, { holds: false, current: 900 });
  await advance(60);
  Object.assign(one, { holds: true, current: 100 });
  await advance(300);
  assert.deepEqual((await told()).toSorted(), missed, 'the other one still misses it');
  await first[Symbol.asyncDispose]();
  await second[Symbol.asyncDispose]();
  const last = startNode({ holds: true, current: 100 });
  await advance(90);
  assert.deepEqual((await told()).toSorted(), ['Degraded Healthy', ...missed]);
  await advance(300);
  assert.equal((await told()).length, 3);
  await last[Symbol.asyncDispose]();
});
