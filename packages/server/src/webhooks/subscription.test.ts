import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSystemRandom } from '../runtime/random.ts';
import { createRecordMacs } from '../records/record-macs.ts';
import {
  contentOfSubscription,
  readerOf,
  showSubscription,
  SUBSCRIPTION_KIND,
  subscriptionIn,
  type SubscriptionRecord,
} from './subscription.ts';

const SUBSCRIPTION: SubscriptionRecord = {
  subscriptionId: '01KE0000000000000000000001',
  tenantId: 'acme',
  version: 2,
  noticeId: '01KE0000000000000000000000',
  name: 'SIEM',
  url: 'https://siem.example.com/hook',
  eventTypes: ['*'],
  filters: { 'payload.amount': { gt: 1000 } },
  headers: { Authorization: '[REDACTED]', 'X-Team': 'security' },
  timeoutSeconds: 10,
  retry: { strategy: 'Schedule' },
  retryClientErrors: true,
  ordered: false,
  clearance: 'Secret',
  tls: { ca: '-----BEGIN CERTIFICATE-----' },
  isActive: true,
  isDeleted: false,
  round: 1,
  author: { roles: ['Operator'], clearance: 'Internal' },
  boxes: { secret: 'c2VhbGVk', headers: 'c2VhbGVk', clientKey: 'c2VhbGVk' },
  createdAtMs: 0,
  createdBy: 'key:1',
  updatedAtMs: 1,
  updatedBy: 'key:2',
};

const macs = createRecordMacs(
  () => [new Uint8Array(32)],
  () => 'audit.example.com',
);

const readAgain = (subscription: SubscriptionRecord) => {
  const { tenantId: owner, subscriptionId: id, version } = subscription;
  const content = contentOfSubscription(subscription);
  return subscriptionIn(
    macs.make({ owner, kind: SUBSCRIPTION_KIND, id, version, content }, createSystemRandom()),
  );
};

test('a record gives the subscription back that it was made of', () => {
  for (const each of [
    SUBSCRIPTION,
    { ...SUBSCRIPTION, isActive: false, tls: undefined },
    { ...SUBSCRIPTION, isActive: false, isDeleted: true, boxes: {} },
  ])
    assert.deepEqual(readAgain(each), each);
});

test('it sees what both its author and its own clearance allow, and may do nothing', () => {
  const { clearance, roles, tenant, refusal } = readerOf(SUBSCRIPTION);
  assert.deepEqual([clearance, roles, tenant], ['Internal', ['Operator'], 'acme']);
  assert.equal(refusal('audit.events.read'), 'FORBIDDEN');
  const narrowed = { ...SUBSCRIPTION, clearance: 'Public' } as const;
  assert.equal(readerOf(narrowed).clearance, 'Public');
});

test('an answer has no box, no author and no name of who changed it', () => {
  const circuit = { state: 'Closed', consecutiveFailures: 0 } as const;
  const shown = showSubscription(SUBSCRIPTION, { status: 'Active', circuit });
  assert.ok(!JSON.stringify(shown).includes('c2VhbGVk'));
  assert.deepEqual(
    ['boxes', 'author', 'updatedBy', 'round', 'version'].filter((name) => name in shown),
    [],
  );
});
