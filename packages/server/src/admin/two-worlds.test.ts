// Two services, alike but for a tenant that is in one of them only. Callers of the other tenants get the same answers
// from both, byte for byte: with a clock that stands still, nothing else is left that could differ.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { MetricsReport } from '@tallystick/contract';
import { type Clock, systemClock } from '../runtime/clock.ts';
import {
  adminCaller,
  type AdminCaller,
  callerOf,
  PLATFORM_KEY,
  WITH_PLATFORM_KEY,
} from '../testing/admin-caller.ts';
import { EVENT } from '../testing/bound-operations.ts';
import { startTestApp, type TestApp } from '../testing/test-app.ts';

/** Timers run, so that loops go on. */
const STANDING: Clock = { ...systemClock, now: () => Date.UTC(2026, 0, 3), monotonicNs: () => 1e9 };

const EVENT_ID = '01KE0000000000000000000042';

/** By the platform, of which no tenant is told. */
async function untilIndexed(app: TestApp): Promise<void> {
  for (;;) {
    const { text } = await adminCaller(app, 'acme').get('/api/v1/admin/metrics');
    const { metrics } = JSON.parse(text) as MetricsReport;
    const pending = metrics.find(({ name }) => name === 'tallystick_projection_pending_events');
    if (pending!.samples.every(({ value }) => value === 0)) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** What goes on in both worlds, with something else between its steps. */
async function worldOf(app: TestApp, between: (app: TestApp) => Promise<void>): Promise<string[]> {
  await between(app);
  const acme = await callerOf(app, 'acme');
  const operator = await callerOf(app, 'acme', ['Operator']);
  await acme.send(2);
  await between(app);
  await acme.post('/api/v1/audit-events/batch', { events: [EVENT, {}] });
  await acme.post('/api/v1/audit-events', { ...EVENT, eventId: EVENT_ID });
  await acme.get(`/api/v1/audit-events/${EVENT_ID}`);
  await acme.post('/api/v1/audit-events', {});
  await between(app);
  // Waits until all of the log is signed.
  assert.equal((await acme.get(`/api/v1/audit-events/${EVENT_ID}/proof`)).code, '200');
  await untilIndexed(app);
  const told: string[] = [];
  for (const role of [acme, operator]) {
    for (const [path, accept] of [
      ['/api/v1/status', '*/*'],
      ['/api/v2/status', '*/*'],
      ['/api/v1/admin/metrics', 'application/json'],
      ['/api/v1/admin/metrics', 'text/plain'],
      ['/metrics', '*/*'],
    ] as const) {
      const { code, text } = await role.get(path, { Accept: accept });
      told.push(`${path} ${code} ${code === '200' ? text : ''}`);
      await between(app);
    }
  }
  return told;
}

/** All that others can do, and that can be done to them, in the name of acme too. */
async function anotherWorks(app: TestApp): Promise<void> {
  const platform = adminCaller(app, 'acme');
  const globex: AdminCaller = await callerOf(app, 'globex', ['Admin'], 'acme');
  await globex.send(3);
  await globex.get('/api/v1/audit-events/01KE0000000000000000000043');
  await globex.get('/api/v1/status');
  await globex.get('/api/v1/admin/metrics');
  // Refused, in the name of acme.
  await globex.get('/api/v1/admin/metrics', { 'X-Tenant-Id': 'acme' });
  await globex.post('/api/v1/audit-events', EVENT, { 'X-Tenant-Id': 'acme' });
  await fetch(`${app.url}/api/v1/status`, {
    headers: { 'X-Tenant-Id': 'acme', 'X-API-Key': `${PLATFORM_KEY}x` },
  });
  // Of the platform, which has to name some tenant.
  await platform.get('/api/v1/status');
  await platform.get('/api/v1/admin/metrics');
  await platform.get('/metrics');
}

test('status and metrics of a tenant are the same, byte for byte, whether or not others are there and at work', async () => {
  await using alone = await startTestApp(WITH_PLATFORM_KEY, { clock: STANDING });
  await using beside = await startTestApp(WITH_PLATFORM_KEY, { clock: STANDING });
  const [one, other] = await Promise.all([
    worldOf(alone, () => Promise.resolve()),
    worldOf(beside, anotherWorks),
  ]);
  assert.deepEqual(other, one);
  assert.match(one[0]!, /"eventsAccepted":4\b/);
  assert.match(one[2]!, /"name":"tallystick_log_entries".*"value":6\}/);
  assert.doesNotMatch(other.join(), /globex/);
  const platform = await adminCaller(beside, 'acme').get('/api/v1/status');
  assert.match(platform.text, /"eventsAccepted":4[0-9]\b/, 'the others were at work: 13 rounds of three');
});
