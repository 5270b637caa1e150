// Deliveries that fall due while the settings, policies or holds of their tenant are not as the service wrote them.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TENANT } from '../testing/test-call.ts';
import type { Job } from '../work/jobs.ts';
import type { Holding } from '../work/workers.ts';
import { type ContentParts, Contents } from './contents.ts';
import { deliveryWork, type DelivererParts } from './deliverer.ts';
import type { SubscriptionRecord } from './subscription.ts';

test('they wait until that is put right, and are not taken for done', async () => {
  const author = { roles: ['Admin'], clearance: 'Secret' };
  const named = { tenantId: 'acme', subscriptionId: 'one', url: 'https://a.example/' };
  const subscription = { ...named, isActive: true, author, clearance: 'Secret' };
  const known = new Map([['one', subscription as unknown as SubscriptionRecord]]);
  const clock = { monotonicNs: () => 0 };
  const contents = new Contents({
    clock,
    log: {},
    tenants: { find: async () => ({ ...TENANT, isAltered: true }) },
  } as unknown as ContentParts);
  const warned: string[] = [];
  const work = deliveryWork({
    subscriptions: { of: async () => known },
    contents,
    pace: { turnMs: () => 0, begin: () => {}, end: () => {}, limits: () => [] },
    clock,
    timeScale: 1,
    telemetry: {
      warn: (what: string) => void warned.push(what),
      error: (_: string, error: unknown) => assert.fail(String(error)),
    },
  } as unknown as DelivererParts);
  const task = { webhookId: 'w', webhookType: 'event.notification', source: { of: 'Event', index: 0 } };
  const job = { tenant: 'acme', lane: 'one', jobId: 'j', attempts: 1, body: JSON.stringify(task) };
  const holding = { signal: new AbortController().signal } as Holding;
  const { status } = await work.handle(job as Job, holding);
  assert.equal(status, 'PutOff');
  assert.match(warned.join(), /its records cannot be read/);
});
