import assert from 'node:assert/strict';
import { test } from 'node:test';
import { operationNamed } from '@tallystick/contract';
import { createFakeClock } from '../testing/fake-clock.ts';
import { DELIVERY_OUTCOMES, outcomeOfDelivery, type WorkFigures } from './work-figures.ts';
import { createMeter } from './meter.ts';

const INGEST = operationNamed('events.ingest');
const GET = operationNamed('events.get');
const STATUS = operationNamed('status.get');

function build(tenantsMax?: number) {
  const clock = createFakeClock();
  return { clock, meter: createMeter(clock, tenantsMax) };
}

test('requests are counted by operation and kind of status, in the order of the contract', () => {
  const { meter } = build();
  for (const status of ['2xx', '4xx', '2xx', '5xx'] as const) meter.answered(STATUS, 'acme', status, 0);
  meter.answered(INGEST, 'acme', '2xx', 0);
  assert.deepEqual(meter.ofTenant('acme').requests, [
    { operation: 'events.ingest', status: '2xx', count: 1 },
    { operation: 'status.get', status: '2xx', count: 2 },
    { operation: 'status.get', status: '4xx', count: 1 },
    { operation: 'status.get', status: '5xx', count: 1 },
  ]);
});

test('each tenant has its own figures, and the process those of all and of none', () => {
  const { meter } = build();
  meter.answered(INGEST, 'acme', '2xx', 0);
  meter.accepted('acme', 3);
  meter.answered(INGEST, 'globex', '2xx', 0);
  meter.accepted('globex', 4);
  meter.answered(INGEST, undefined, '4xx', 0);
  const counts = ({ requests }: { requests: readonly { count: number }[] }) =>
    requests.map(({ count }) => count);
  assert.deepEqual([counts(meter.ofTenant('acme')), meter.ofTenant('acme').eventsAccepted], [[1], 3]);
  assert.deepEqual([counts(meter.ofTenant('globex')), meter.ofTenant('globex').eventsAccepted], [[1], 4]);
  assert.deepEqual([counts(meter.ofProcess()), meter.ofProcess().eventsAccepted], [[2, 1], 7]);
  assert.deepEqual(
    meter.ofTenant('nobody'),
    build().meter.ofTenant('acme'),
    'a tenant that did nothing has no counts',
  );
});

test('availability is of requests whose callers may make them, and of failures of ours', () => {
  const { meter } = build();
  for (let i = 0; i < 10; i++) meter.answered(INGEST, undefined, '4xx', 0, false);
  meter.answered(INGEST, 'acme', '4xx', 0);
  meter.answered(INGEST, 'acme', '2xx', 0);
  meter.answered(INGEST, undefined, '5xx', 0, false);
  assert.deepEqual(meter.ofProcess().availability, { answered: 3, failed: 1 });
  assert.deepEqual(meter.ofTenant('acme').availability, { answered: 2, failed: 0 });
});

test('latencies are of work that was not refused: ingestion, queries, and neither', async () => {
  const { clock, meter } = build();
  const work = async (
    operation: typeof INGEST | typeof GET | typeof STATUS,
    ms: number,
    status: '2xx' | '4xx' | '5xx',
  ) => {
    const beganNs = clock.monotonicNs();
    await clock.advance(ms);
    meter.answered(operation, 'acme', status, beganNs);
  };
  await work(INGEST, 2, '2xx');
  await work(INGEST, 4, '5xx');
  await work(INGEST, 1000, '4xx');
  await work(GET, 8, '2xx');
  await work(STATUS, 500, '2xx');
  for (const { ingest, query } of [meter.ofTenant('acme'), meter.ofProcess()]) {
    assert.deepEqual([ingest.count, ingest.sumSeconds], [2, 0.006]);
    assert.deepEqual([query.count, query.sumSeconds], [1, 0.008]);
    assert.ok(
      ingest.lately!.percentiles.p50 >= 1.6 && ingest.lately!.percentiles.p50 <= 2.5,
      String(ingest.lately!.percentiles.p50),
    );
    assert.ok(
      ingest.lately!.percentiles.p99 >= 3.2 && ingest.lately!.percentiles.p99 <= 5,
      String(ingest.lately!.percentiles.p99),
    );
  }
  const { ingest, query, other } = meter.requestDurations;
  assert.deepEqual([ingest.count, query.count, other.count], [2, 1, 1]);
});

test('what a tenant did long ago is in its counts, and not in its latencies', async () => {
  const { clock, meter } = build();
  meter.answered(INGEST, 'acme', '2xx', 0);
  for (let minute = 0; minute < 30; minute++) {
    await clock.advance(60_000);
    meter.answered(INGEST, 'globex', '2xx', clock.monotonicNs());
  }
  const { ingest, requests } = meter.ofTenant('acme');
  assert.deepEqual([ingest.lately, ingest.count, requests.length], [undefined, 1, 1]);
});

test('of more tenants than are held, those idle longest begin anew, and the process forgets nothing', () => {
  const { meter } = build(100);
  for (let i = 0; i < 1000; i++) {
    meter.answered(INGEST, `tenant-${i}`, '2xx', 0);
    meter.answered(INGEST, 'steady', '2xx', 0);
  }
  assert.equal(meter.ofTenant('steady').requests[0]!.count, 1000, 'one that is used is kept');
  assert.equal(meter.ofTenant('tenant-999').requests[0]!.count, 1);
  assert.deepEqual(meter.ofTenant('tenant-1').requests, []);
  assert.equal(meter.ofProcess().requests[0]!.count, 2000);
});

test('attempts to deliver are counted by what came of them, of their tenant and of the process', () => {
  const meter = createMeter(createFakeClock());
  const outcomes = [
    outcomeOfDelivery({ isDelivered: true, status: 202, fault: undefined }),
    outcomeOfDelivery({ isDelivered: false, status: 203, fault: 'Status' }),
    outcomeOfDelivery({ isDelivered: false, status: 410, fault: 'Status' }),
    outcomeOfDelivery({ isDelivered: false, status: 503, fault: 'Status' }),
    outcomeOfDelivery({ isDelivered: false, status: undefined, fault: 'Timeout' }),
    outcomeOfDelivery({ isDelivered: false, status: undefined, fault: 'Dns' }),
  ];
  assert.deepEqual(outcomes.toSorted(), DELIVERY_OUTCOMES.toSorted());
  for (const outcome of outcomes) meter.attempted('acme', outcome, 1e6);
  meter.attempted('other', 'Delivered', 1e6);
  const counted = (figures: WorkFigures) => figures.deliveryAttempts.map(({ count }) => count);
  assert.deepEqual(counted(meter.ofTenant('acme')), [1, 1, 1, 1, 1, 1]);
  assert.deepEqual(counted(meter.ofTenant('nobody')), [0, 0, 0, 0, 0, 0]);
  assert.deepEqual(counted(meter.ofProcess()), [2, 1, 1, 1, 1, 1]);
  assert.equal(meter.deliveryDurations.count, 7);
});
