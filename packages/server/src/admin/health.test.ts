import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFakeClock } from '../testing/fake-clock.ts';
import { type Check, createHealth } from './health.ts';
import { createLifecycle } from './lifecycle.ts';

const SPAN = /^([01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{7}$/;

const check = (name: Check['name'], run: Check['run'], essential = true): Check => ({ name, essential, run });
const is = (status: 'Healthy' | 'Degraded' | 'Unhealthy') => () => Promise.resolve({ status });

function build(...checks: Check[]) {
  const clock = createFakeClock();
  const lifecycle = createLifecycle();
  const health = createHealth(clock, lifecycle);
  for (const each of checks) health.add(each);
  return { clock, lifecycle, health };
}

test('the report is as good as the worst check', async () => {
  const table = [
    [[], 'Healthy'],
    [['Healthy'], 'Healthy'],
    [['Healthy', 'Degraded'], 'Degraded'],
    [['Degraded', 'Unhealthy'], 'Unhealthy'],
  ] as const;
  for (const [statuses, expected] of table) {
    const names = ['log', 'views'] as const;
    const { health, lifecycle } = build(...statuses.map((status, i) => check(names[i]!, is(status))));
    lifecycle.moveTo('Serving');
    assert.equal((await health.report()).status, expected);
  }
});

test('each check is an entry with its duration, in time-span form', async () => {
  const { health, clock, lifecycle } = build(
    check('storage', async () => {
      await new Promise<void>((resolve) => clock.after(12.3456, resolve));
      return { status: 'Degraded', description: 'nearly full' };
    }),
  );
  lifecycle.moveTo('Serving');
  const asked = health.report();
  await clock.advance(13);
  const { totalDuration, entries } = await asked;
  assert.deepEqual(entries, {
    lifecycle: { status: 'Healthy', description: 'Serving' },
    storage: { status: 'Degraded', description: 'nearly full', duration: '00:00:00.0123456' },
  });
  assert.match(totalDuration, SPAN);
});

test('a check that throws is Unhealthy and shows the class of error, never the message', async () => {
  const table: [unknown, string][] = [
    [Object.assign(new Error('no space on /dev/sda1'), { code: 'ENOSPC' }), 'ENOSPC'],
    [new TypeError('x of secret'), 'TypeError'],
    [Object.assign(new Error('m'), { code: 'a message, not a code' }), 'Error'],
    ['thrown text', 'Error'],
  ];
  for (const [error, exception] of table) {
    const report = await build(check('log', () => Promise.reject(error))).health.report();
    assert.equal(report.status, 'Unhealthy');
    assert.equal(report.entries['log']?.exception, exception);
    assert.doesNotMatch(JSON.stringify(report), /sda1|secret|thrown|message/);
  }
});

test('a check that hangs is Unhealthy after five seconds', async () => {
  const { health, clock } = build(check('log', () => new Promise(() => {})));
  const asked = health.report();
  await clock.advance(5000);
  assert.equal((await asked).entries['log']?.exception, 'Timeout');
});

test('those who ask while a check runs share its result', async () => {
  let runs = 0;
  const { health, clock } = build(
    check('log', async () => {
      runs += 1;
      await new Promise<void>((resolve) => clock.after(10, resolve));
      return { status: 'Healthy' };
    }),
  );
  const asked = Promise.all([health.report(), health.ready(), health.report()]);
  await clock.advance(10);
  await asked;
  assert.equal(runs, 1);
  const again = health.report();
  await clock.advance(10);
  await again;
  assert.equal(runs, 2);
});

test('ready follows the lifecycle and the essential checks', async () => {
  let storage: 'Healthy' | 'Unhealthy' = 'Healthy';
  const { health, lifecycle } = build(
    check('storage', () => Promise.resolve({ status: storage })),
    check('webhooks', is('Unhealthy'), false),
  );
  const statuses = async () => {
    const reports = await Promise.all([health.live(), health.ready(), health.startup()]);
    return reports.map(({ status }) => status);
  };
  assert.deepEqual(await statuses(), ['Healthy', 'Unhealthy', 'Unhealthy'], 'starting');
  lifecycle.moveTo('Serving');
  assert.deepEqual(await statuses(), ['Healthy', 'Healthy', 'Healthy'], 'serving');
  storage = 'Unhealthy';
  assert.deepEqual(await statuses(), ['Healthy', 'Unhealthy', 'Healthy'], 'storage is gone');
  storage = 'Healthy';
  lifecycle.moveTo('Draining');
  assert.deepEqual(await statuses(), ['Healthy', 'Unhealthy', 'Healthy'], 'draining');
  lifecycle.moveTo('Serving');
  assert.equal(lifecycle.phase, 'Draining', 'there is no way back');
});

test('two checks cannot have one name', () => {
  const { health } = build(check('log', is('Healthy')));
  assert.throws(() => health.add(check('log', is('Healthy'))), /the health check log exists/);
});

test('until the service serves, and when it drains, the report is Unhealthy and says so', async () => {
  const { health, lifecycle } = build(check('log', is('Healthy')));
  const seen = async () => {
    const { status, entries } = await health.report();
    return [status, entries['lifecycle']?.description, entries['log']?.status];
  };
  assert.deepEqual(await seen(), ['Unhealthy', 'Starting', 'Healthy']);
  lifecycle.moveTo('Serving');
  assert.deepEqual(await seen(), ['Healthy', 'Serving', 'Healthy']);
  lifecycle.moveTo('Draining');
  assert.deepEqual(await seen(), ['Unhealthy', 'Draining', 'Healthy']);
});
