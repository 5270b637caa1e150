import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LIMITS } from '@tallystick/contract';
import { budgetFaults, graceFaults, subscriptionFaults } from './subscription-faults.ts';
import type { SubscriptionRecord } from './subscription.ts';

const one = (id: number, more: Partial<SubscriptionRecord> = {}): SubscriptionRecord => ({
  subscriptionId: `${id}`.padStart(26, '0'),
  tenantId: 'acme',
  version: 1,
  noticeId: '01KE0000000000000000000000',
  name: 'SIEM',
  url: 'https://siem.example.com/',
  eventTypes: ['*'],
  filters: {},
  headers: {},
  timeoutSeconds: 10,
  retry: { strategy: 'Schedule' },
  retryClientErrors: true,
  ordered: false,
  clearance: 'Internal',
  tls: undefined,
  isActive: true,
  isDeleted: false,
  round: 1,
  author: { roles: ['Admin'], clearance: 'Secret' },
  boxes: {},
  createdAtMs: 0,
  createdBy: 'key:1',
  updatedAtMs: 0,
  updatedBy: 'key:1',
  ...more,
});

const many = (count: number, more: Partial<SubscriptionRecord> = {}) =>
  Array.from({ length: count }, (_, i) => one(i, more));
const issues = (added: SubscriptionRecord, all: readonly SubscriptionRecord[]) =>
  budgetFaults(added, all).map(({ issue }) => issue);

test('a tenant has so many subscriptions, and deleted ones count for themselves', () => {
  const { subscriptionsMax, subscriptionRecordsMax } = LIMITS;
  assert.deepEqual(issues(one(9999), many(subscriptionsMax - 1)), []);
  assert.deepEqual(issues(one(9999), many(subscriptionsMax)), [
    `must leave at most ${subscriptionsMax} subscriptions of a tenant; there would be ${subscriptionsMax + 1}`,
  ]);
  assert.deepEqual(issues(one(0), many(subscriptionsMax)), [], 'a change is none more');
  const deleted = many(subscriptionRecordsMax, { isDeleted: true, isActive: false });
  assert.deepEqual(issues(one(999_999), deleted.slice(1)), []);
  assert.match(issues(one(999_999), deleted).join(), /^must leave at most 10000 .* deleted; there would be/);
});

test('all together have so many characters', () => {
  const large = { tls: { ca: 'x'.repeat(32_000) } };
  assert.deepEqual(issues(one(9999, large), many(100, large)), []);
  assert.match(issues(one(9999, large), many(140, large)).join(), /characters of JSON in all subscriptions/);
});

test('a retry waits from a second to a day', () => {
  const faults = (initialDelay: unknown, maxDelay: unknown) =>
    subscriptionFaults({ retry: { strategy: 'Exponential', initialDelay, maxDelay } }).map(
      ({ detail: { field, issue, value } }) => `${field} ${issue}: ${String(value)}`,
    );
  assert.deepEqual(faults('PT1S', 'P1D'), []);
  assert.deepEqual(faults('PT0.9S', 'P1DT1S'), [
    'retry.initialDelay must be from PT1S to P1D: PT0.9S',
    'retry.maxDelay must be from PT1S to P1D: P1DT1S',
  ]);
  assert.equal(faults('P275000Y', 'P999999999Y').length, 2);
  assert.deepEqual(faults('PT0S', 'soon'), [], 'the schema reports these');
});

test('what is no text is left to the schema', () => {
  for (const subscription of [undefined, null, 7, [], {}, { url: 7, filters: null, headers: 7 }])
    assert.deepEqual(subscriptionFaults(subscription), []);
  for (const rotation of [
    undefined,
    null,
    {},
    { gracePeriod: 7 },
    { gracePeriod: 'soon' },
    { gracePeriod: '' },
  ])
    assert.deepEqual(graceFaults(rotation), []);
});

test('a fault of the URL has its code, others have that of their place', () => {
  const subscription = { url: 'https://a:b@example.com/', headers: { Host: 'x' } };
  assert.deepEqual(
    subscriptionFaults(subscription).map(({ code, detail }) => [code, detail.field]),
    [
      ['INVALID_WEBHOOK_URL', 'url'],
      [undefined, 'headers.Host'],
    ],
  );
});
