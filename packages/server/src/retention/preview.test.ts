// What a preview tells a reader from whom events are withheld, and that it lets others have a turn.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RetentionPreview } from '@tallystick/contract';
import type { TenantRecord } from '../access/tenants.ts';
import type { HoldRecord } from '../holds/hold.ts';
import type { StoredEvent } from '../streams/log.ts';
import { WITH_PLATFORM_KEY } from '../testing/admin-caller.ts';
import { policedTenant } from '../testing/policed-tenant.ts';
import { startTestApp } from '../testing/test-app.ts';
import { gatherRemovable, type RemovableParts } from './removable.ts';

test('a preview counts nothing that its reader does not see whole', async (t) => {
  const app = await startTestApp(WITH_PLATFORM_KEY);
  t.after(() => app[Symbol.asyncDispose]());
  const tenant = policedTenant(app, 'seen');
  const key = await tenant.keyWith({ roles: ['Operator'] });
  const rule = { conditions: { 'payload.state': 'ill' }, effect: { retentionPeriod: 'P1D' } };
  const { policyId } = await tenant.put('Retention', [rule], 'Ill');
  const payload = { state: 'ill' };
  await tenant.send(
    { classification: 'Secret', payload },
    { classification: 'Confidential', payload },
    { classification: 'Internal', payload },
  );
  const path = `/retention/preview?until=${new Date(Date.now() + 2 * 86_400_000).toISOString()}`;
  const all = await tenant.ask<RetentionPreview>('GET', path);
  assert.deepEqual(all.byPolicy, [{ policyId, policyName: 'Ill', events: 3 }]);
  const own = await tenant.ask<RetentionPreview>('GET', path, undefined, key);
  assert.deepEqual(own.byPolicy, [{ policyId, policyName: 'Ill', events: 1 }]);
  await tenant.ask('POST', '/legal-holds', { name: 'all', reason: 'a case' });
  assert.equal((await tenant.ask<RetentionPreview>('GET', path)).heldEvents, 3);
  const held = await tenant.ask<RetentionPreview>('GET', path, undefined, key);
  assert.deepEqual([held.byPolicy, held.heldEvents], [[], 1]);
});

test('between two events that holds are asked about others may have a turn', async () => {
  const hold = { holdId: '01KE0000000000000000000042', status: 'Active' } as HoldRecord;
  const tenant = { tenantId: 'acme', holds: [hold], policies: [] } as unknown as TenantRecord;
  const stored = Array.from(
    { length: 300 },
    (_, index) => ({ index, content: { fault: 'x' } }) as StoredEvent,
  );
  const parts = {
    removal: { expired: async () => [{ firstIndex: 0, endIndex: 300, decidedBy: undefined }] },
    log: { forTenant: () => ({ events: async () => stored }) },
  } as unknown as RemovableParts;
  let pauses = 0;
  const pause = () => {
    pauses++;
    return undefined;
  };
  const { heldEvents } = await gatherRemovable(tenant, { firstIndex: 0, endIndex: 300 }, 0, parts, pause);
  assert.equal(heldEvents, 300);
  assert.ok(pauses >= 300, `${pauses} pauses`);
});
