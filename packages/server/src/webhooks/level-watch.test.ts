// Misses of the levels of service, as subscribers hear of them: from a real service whose queries are slow, and from several nodes on one
// real store under a clock that the test moves.

import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { Notification, ServiceLevel, ServiceStatus } from '@tallystick/contract';
import { INSTALLATION } from '@tallystick/evidence';
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

  // Once each: where the clock leaps, a lease ends before its delivery is marked as done, and it is sent again.
  const ofQueries = () => {
    const bodies = consumer.got.map(({ body }) => body);
    const isFirst = ({ webhookId }: Notification, at: number) =>
      bodies.findIndex((body) => body.webhookId === webhookId) === at;
    return bodies.filter(isFirst).filter((body) => JSON.stringify(body).includes('QueryLatency'));
  };
  await until(() => ofQueries().length >= 4);
  const misses = ['P95 200', 'P99 500'].map((each) => `threshold.exceeded QueryLatency${each} PT6M High `);
  const changes = ['P95', 'P99'].map((each) => `system.event serviceLevel.QueryLatency${each}`);
  assert.deepEqual(
    ofQueries().map(plain).toSorted(),
    [...changes.map((each) => `${each} Healthy Degraded`), ...misses].toSorted(),
  );
  const lines = app.lines.filter(({ message }) => message === 'the service misses a level');
  assert.deepEqual(
    lines.map(({ level, serviceLevel }) => [level, serviceLevel]),
    [
      ['Warn', 'QueryLatencyP95'],
      ['Warn', 'QueryLatencyP99'],
    ],
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

interface Figures {
  holds: boolean;
  current: number;
}

/** Nodes on one real store, under a clock that the test moves. */
async function openNodes(name: string) {
  const clock = createFakeClock(Date.now());
  const random = createSystemRandom();
  const options = { logOrigin: 'levels.test', streams: STREAMS, clock, random, onFatal: assert.fail };
  const directory = join(folder, name);
  mkdirSync(directory);
  const storage = await openSqliteStorage({ ...options, directory, threads: false, exclusive: true });
  const watched = { unreadable: new Set<string>(), errors: 0 };
  const levelOf = (figures: Figures): ServiceLevel => ({
    name: 'IngestLatencyP95',
    unit: 'Milliseconds',
    target: 500,
    window: 'PT6M',
    ...figures,
  });
  return {
    storage,
    watched,
    /** `acme` asks for as much as the process answers; of `globex` there is nothing to judge. */
    startNode: (figures: Figures, clockAheadMs = 0) =>
      startLevelWatch({
        levels: {
          measureLag() {},
          ofProcess: () => [levelOf(figures)],
          ofTenant: (tenant: string) =>
            tenant === 'acme' ? [levelOf({ ...figures, current: figures.current + 1 })] : [],
        },
        records: { all: async () => [{ owner: 'acme' }, { owner: 'globex' }] },
        subscriptions: {
          async of(tenantId: string) {
            if (watched.unreadable.has(tenantId)) throw new Error('somebody has altered it');
            return new Map([['one', { tenantId, subscriptionId: 'one', eventTypes: ['*'], round: 0 }]]);
          },
        },
        circuits: { find: async () => new Map() },
        work: storage.work,
        storeNowMs: async () => clock.now(),
        clock: { ...clock, now: () => clock.now() + clockAheadMs },
        random,
        nextId,
        wake() {},
        telemetry: { info() {}, warn() {}, error: () => (watched.errors += 1) },
      } as unknown as LevelWatchParts),
    advance: async (seconds: number) => {
      for (let i = 0; i < seconds; i++) await clock.advance(1000);
    },
    told: async (tenant: string): Promise<string[]> => {
      const lane = { kind: 'Delivery', lane: 'one', way: 'Rising', beyond: undefined, limit: 100 } as const;
      const rows = await storage.work.forTenant(tenant).jobsOfLane(lane);
      const texts = rows.map(({ body }) => {
        const { source } = readTask(body);
        if (source.of === 'Level') return `${source.crossing.name} ${source.crossing.observedValue}`;
        assert.ok(source.of === 'System');
        return `${source.change.previousStatus} ${source.change.status}`;
      });
      return texts.toSorted();
    },
  };
}

const BEGINNING = 'Healthy Degraded';
const END = 'Degraded Healthy';

test('several nodes make one miss of it, which ends when it holds for all, also when those that told of it are gone', async () => {
  const { storage, startNode, advance, told, watched } = await openNodes('several');
  await using _ = storage;
  const [one, two] = [
    { holds: false, current: 700 },
    { holds: true, current: 100 },
  ];
  const first = startNode(one, -3_600_000);
  const second = startNode(two, 3_600_000);
  await advance(9);
  assert.deepEqual(await told('acme'), [], 'a moment is no miss');
  await advance(20);
  const missed = [BEGINNING, 'IngestLatencyP95 701'];
  assert.deepEqual(await told('acme'), missed);
  assert.deepEqual(await told('globex'), [BEGINNING], 'no figure of others');
  Object.assign(two, { holds: false, current: 900 });
  await advance(60);
  Object.assign(one, { holds: true, current: 100 });
  await advance(300);
  assert.deepEqual(await told('acme'), missed, 'the other one still misses it');
  await first[Symbol.asyncDispose]();
  await second[Symbol.asyncDispose]();
  const last = startNode({ holds: true, current: 100 }, 7_200_000);
  await advance(90);
  assert.deepEqual(await told('acme'), [END, ...missed]);
  assert.deepEqual(await told('globex'), [END, BEGINNING]);
  await advance(300);
  assert.equal((await told('acme')).length, 3);
  assert.equal(watched.errors, 0);
  await last[Symbol.asyncDispose]();
});

test('two nodes that miss it, and are both there at its end, tell of the threshold and of the end once', async () => {
  const { storage, startNode, advance, told } = await openNodes('both');
  await using _ = storage;
  const figures = { holds: false, current: 700 };
  await using nodes = new AsyncDisposableStack();
  for (let i = 0; i < 2; i++) nodes.use(startNode(figures));
  await advance(60);
  Object.assign(figures, { holds: true, current: 100 });
  await advance(300);
  assert.deepEqual(await told('acme'), [END, BEGINNING, 'IngestLatencyP95 701']);
});

test('a tenant that cannot be told holds up no other one, and is told once it can be', async () => {
  const { storage, startNode, advance, told, watched } = await openNodes('unreadable');
  await using _ = storage;
  const figures = { holds: false, current: 700 };
  await using nodes = new AsyncDisposableStack();
  nodes.use(startNode(figures));
  nodes.use(startNode({ holds: true, current: 100 }));
  watched.unreadable.add('acme');
  await advance(200);
  assert.deepEqual(await told('globex'), [BEGINNING], 'the miss goes on meanwhile');
  assert.ok(watched.errors > 0);
  watched.unreadable.clear();
  await advance(60);
  assert.deepEqual(await told('acme'), [BEGINNING, 'IngestLatencyP95 701']);

  watched.unreadable.add('acme');
  Object.assign(figures, { holds: true, current: 100 });
  await advance(200);
  assert.deepEqual(await told('globex'), [END, BEGINNING]);
  watched.unreadable.clear();
  await advance(60);
  assert.deepEqual(await told('acme'), [END, BEGINNING, 'IngestLatencyP95 701']);

  // Nobody sees to it: that is given up, and the next miss is told of.
  watched.unreadable.add('acme');
  Object.assign(figures, { holds: false, current: 800 });
  await advance(60);
  Object.assign(figures, { holds: true, current: 100 });
  await advance(900);
  Object.assign(figures, { holds: false, current: 900 });
  await advance(60);
  assert.deepEqual(await told('globex'), [END, END, BEGINNING, BEGINNING, BEGINNING]);
});

test('a note that cannot be read is put aside', async () => {
  const { storage, startNode, advance, told } = await openNodes('note');
  await using _ = storage;
  const lane = { kind: 'ServiceLevel', lane: 'IngestLatencyP95' } as const;
  await storage.work.forTenant(INSTALLATION).changeLane(lane, { status: 'Closes', note: 'what' });
  await using nodes = new AsyncDisposableStack();
  nodes.use(startNode({ holds: false, current: 700 }));
  await advance(60);
  assert.deepEqual(await told('globex'), [BEGINNING]);
});
