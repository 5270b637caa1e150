// What a trial of a policy says that it would have done, through the whole service.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { PolicyImpact, PolicyValidation } from '@tallystick/contract';
import { WITH_PLATFORM_KEY } from '../testing/admin-caller.ts';
import { policedTenant, type PolicedTenant } from '../testing/policed-tenant.ts';
import { systemClock } from '../runtime/clock.ts';
import { startTestApp, type TestApp } from '../testing/test-app.ts';
import { until } from '../testing/until.ts';

let app: TestApp;
before(async () => {
  app = await startTestApp(WITH_PLATFORM_KEY);
});
after(() => app[Symbol.asyncDispose]());

interface Trial {
  readonly conditions?: object;
  readonly policyType?: 'Classification' | 'Retention';
  readonly timeRange?: object;
  readonly key?: string;
}

async function impactOf(tenant: PolicedTenant, trial: Trial = {}): Promise<PolicyImpact> {
  return (await trialOf(tenant, trial)).impact;
}

async function trialOf(tenant: PolicedTenant, trial: Trial): Promise<PolicyValidation> {
  const { conditions = {}, policyType = 'Classification', timeRange, key } = trial;
  const effect = policyType === 'Retention' ? { retentionPeriod: 'P1Y' } : { classification: 'Secret' };
  const policy = { name: 'Trial', policyType, rules: [{ conditions, effect }], timeRange };
  const verdict = await tenant.ask<PolicyValidation>('POST', '/policies/validate', policy, key);
  assert.equal(verdict.valid, true);
  return verdict;
}

const counts = ({ sampledEvents, matchedEvents }: PolicyImpact) => [sampledEvents, matchedEvents];
const instant = (second: number) => new Date(Date.UTC(2026, 0, 1) + second * 1000).toISOString();

test('the newest 1,000 events are tried, or those of a time range; ids are the newest', async () => {
  const tenant = policedTenant(app, 'many');
  const ids: string[] = [];
  // The event of each second; the first 300 are too old to be among the newest.
  for (const part of [0, 1, 2]) {
    const seconds = Array.from({ length: part === 2 ? 300 : 500 }, (_, i) => part * 500 + i);
    ids.push(...(await tenant.send(...seconds.map((n) => ({ timestamp: instant(n), payload: { n } })))));
  }
  await until(
    async () => (await impactOf(tenant, { timeRange: { to: instant(2000) } })).sampledEvents === 1300,
  );
  const newest = await impactOf(tenant, { conditions: { 'payload.n': { lt: 310 } } });
  assert.deepEqual(newest, {
    sampledEvents: 1000,
    matchedEvents: 10,
    sampleEventIds: [309, 308, 307].map((n) => ids[n]),
  });
  const range = { from: instant(100), to: instant(199) };
  const ranged = await impactOf(tenant, { conditions: { 'payload.n': { lt: 110 } }, timeRange: range });
  assert.deepEqual(ranged, {
    sampledEvents: 100,
    matchedEvents: 10,
    sampleEventIds: [109, 108, 107].map((n) => ids[n]),
  });
});

test('events that are secret or withheld are left out, and so are notices', async () => {
  const tenant = policedTenant(app, 'withheld');
  const limited = await tenant.keyWith({ roles: ['Admin'], clearance: 'Internal' });
  await tenant.put('Retention', [{ effect: { retentionPeriod: 'P1Y' } }]);
  const classes = ['Public', 'Internal', 'Confidential', 'Secret'];
  const ids = await tenant.send(
    ...classes.map((classification, i) => ({
      classification,
      timestamp: instant(i),
      payload: { note: 'a' },
    })),
  );
  const sampleEventIds = [ids[2], ids[1], ids[0]];
  await until(async () => (await impactOf(tenant)).sampledEvents >= 3);
  assert.deepEqual(await impactOf(tenant), { sampledEvents: 3, matchedEvents: 3, sampleEventIds });
  const conditions = { 'payload.note': { ne: 'b' } };
  assert.deepEqual(await impactOf(tenant, { conditions, key: limited }), {
    sampledEvents: 2,
    matchedEvents: 2,
    sampleEventIds: sampleEventIds.slice(1),
  });
  const leftOut = async (by?: string) =>
    (await trialOf(tenant, by === undefined ? {} : { key: by })).warnings
      .filter(({ field }) => field === 'impact')
      .map(({ issue }) => issue.slice(0, 20));
  // The other one does not see the secret one.
  assert.deepEqual(
    [await leftOut(), await leftOut(limited)],
    [['leaves out 1 event: '], ['leaves out 1 event: ']],
  );
  const { warnings } = await trialOf(tenant, { timeRange: { from: instant(0), to: instant(1) } });
  assert.deepEqual(
    warnings.filter(({ field }) => field === 'impact'),
    [],
  );
});

test('a Classification policy is tried with the hint of the sender, another one with what was decided', async () => {
  const tenant = policedTenant(app, 'hints');
  await tenant.send({}, {}, { classification: 'Public' }, { classification: 'Confidential' });
  await until(async () => (await impactOf(tenant)).sampledEvents === 4);
  const tried = async (policyType: Trial['policyType'], classification: unknown) =>
    counts(await impactOf(tenant, { policyType, conditions: { classification } } as Trial));
  assert.deepEqual(await tried('Classification', { exists: false }), [4, 2]);
  assert.deepEqual(await tried('Classification', 'Public'), [4, 1]);
  assert.deepEqual(await tried('Classification', 'Internal'), [4, 0]);
  assert.deepEqual(await tried('Retention', { exists: false }), [4, 0]);
  assert.deepEqual(await tried('Retention', 'Internal'), [4, 3]);
});

test('a tenant that does not exist has no events to try a policy on', async () => {
  assert.deepEqual(await impactOf(policedTenant(app, 'nobody')), {
    sampledEvents: 0,
    matchedEvents: 0,
    sampleEventIds: [],
  });
});

test('a trial that takes too long ends with the newest events that it has looked at', async () => {
  let slowNs = 0;
  let aheadNs = 0;
  const clock = { ...systemClock, monotonicNs: () => systemClock.monotonicNs() + (aheadNs += slowNs) };
  await using slow = await startTestApp(WITH_PLATFORM_KEY, { clock });
  const tenant = policedTenant(slow, 'slow');
  const ids = await tenant.send(...Array.from({ length: 100 }, (_, n) => ({ timestamp: instant(n) })));
  await until(async () => (await impactOf(tenant)).sampledEvents === 100);
  slowNs = 3e7;
  const { sampledEvents, matchedEvents, sampleEventIds } = await impactOf(tenant);
  slowNs = 0;
  assert.ok(sampledEvents > 3 && sampledEvents < 100, `${sampledEvents} events`);
  assert.equal(matchedEvents, sampledEvents);
  assert.deepEqual(
    sampleEventIds,
    [99, 98, 97].map((n) => ids[n]),
  );
});
