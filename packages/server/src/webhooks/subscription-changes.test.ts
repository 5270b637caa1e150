import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AuditError, LIMITS } from '@tallystick/contract';
import type { TenantRecord } from '../access/tenants.ts';
import type { Call } from '../call.ts';
import type { ChangeResult } from '../records/change.ts';
import { systemClock } from '../runtime/clock.ts';
import { type Act, SubscriptionChanges } from './subscription-changes.ts';
import type { SubscriptionRecord } from './subscription.ts';

const CALL = {
  tenant: 'acme',
  tenantRecord: {} as TenantRecord,
  caller: { name: 'key:1' },
  correlation: { requestId: 'r', correlationId: 'c' },
} as unknown as Call;

const one = (subscriptionId: string, version = 1): SubscriptionRecord =>
  ({ subscriptionId, tenantId: 'acme', version, filters: {}, isDeleted: false }) as SubscriptionRecord;

/** `answers` are those of the commits, one after the other. */
function setUp(count: number, ...answers: ChangeResult[]) {
  const all = Array.from({ length: count }, (_, i) => one(`${i}`));
  const versions: number[] = [];
  let version = 1;
  const changes = new SubscriptionChanges({
    subscriptions: {
      pageInState: () => assert.fail('not asked'),
      countInState: () => assert.fail('not asked'),
      find: async (_, id) => one(id, version),
      all: async () => all,
      version: async () => undefined,
    },
    circuits: { find: async () => new Map() },
    tenancy: { provide: async () => CALL.tenantRecord! },
    async change({ writes }) {
      versions.push(writes[0]!.version);
      version++;
      return answers.shift() ?? { status: 'Done', records: [] };
    },
    telemetry: { info: () => {} },
    clock: systemClock,
    steadyNowMs: () => 0,
    nextId: () => 'a job',
    wakeGate: () => {},
  });
  const change = (act: Act) =>
    changes.change(
      CALL,
      '0',
      () => {},
      (subscription) => ({ subscription, act }),
    );
  return { change, versions };
}

test('what makes a subscription no larger is never refused for the limits of the tenant', async () => {
  const { change } = setUp(LIMITS.subscriptionsMax + 1);
  await assert.rejects(change('Updated'), { code: 'VALIDATION_FAILED' });
  for (const act of ['Paused', 'Resumed', 'SecretRotated', 'Deleted'] as const) await change(act);
});

test('a change that comes second is made anew on what the first has left', async () => {
  const stale = { status: 'Stale', id: '0', version: 2 } as const;
  const { change, versions } = setUp(1, stale, stale);
  assert.equal((await change('Updated')).subscription.version, 4);
  assert.deepEqual(versions, [2, 3, 4]);
});

test('where others never cease to change it, the caller is asked to come again', async () => {
  const stale = { status: 'Stale', id: '0', version: 2 } as const;
  const { change, versions } = setUp(1, ...Array.from({ length: 30 }, () => stale));
  await assert.rejects(change('Paused'), (error) => {
    return error instanceof AuditError && error.code === 'SERVICE_UNAVAILABLE';
  });
  assert.equal(versions.length, 20);
});
