import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { KINDS } from '@tallystick/evidence';
import { type AccessStore, openAccessStore } from '../testing/access-store.ts';
import { changePolicy, makePolicy } from '../testing/policy-store.ts';
import { CORRELATION } from '../testing/test-call.ts';
import type { RecordWrite } from '../records/change.ts';
import { contentOf, type TenantRecord } from './tenants.ts';

let store: AccessStore;
before(async () => {
  store = await openAccessStore();
});
after(() => store[Symbol.asyncDispose]());

const found = async (tenantId: string) => (await store.access.tenants.find(tenantId))!;

async function putSettings(tenant: TenantRecord, change: Partial<TenantRecord>): Promise<void> {
  const { tenantId: owner, version } = tenant;
  const { correlationId, requestId } = CORRELATION;
  const notice: RecordWrite['notice'] = {
    kind: KINDS.administration,
    action: 'Update.Tenant',
    resource: { resourceType: 'Tenant', resourceId: owner },
    payload: { act: 'TenantChanged', requestId, subjectIds: [], count: 1 },
  };
  const { tier, region, status, defaultClassification, defaultRetention, fourEyes } = {
    ...tenant,
    ...change,
  };
  const settings = { tier, region, status, defaultClassification, defaultRetention, fourEyes };
  const content = contentOf(settings, store.clock.now());
  const write: RecordWrite = { kind: 'Tenant', id: '', version: version + 1, content, notice };
  assert.equal((await store.access.change({ owner, writes: [write], correlationId })).status, 'Done');
}

test('a tenant with policies is the same object while others are changed: what is compiled for it stays', async () => {
  const policy = await makePolicy(store, 'acme');
  const acme = await found('acme');
  assert.deepEqual(acme.policies, [policy]);
  const other = await makePolicy(store, 'other');
  await changePolicy(store, other, { priority: 3 });
  await putSettings(await found('other'), { defaultRetention: 'P1Y' });
  assert.equal(await found('acme'), acme);
  const [listed] = await store.access.tenants.page({ limit: 1, way: 'Rising', beyond: undefined }, [
    'Active',
  ]);
  assert.equal(listed, acme);
});

test('it is another one after a change of its own policy or settings', async () => {
  const policy = await makePolicy(store, 'own');
  const first = await found('own');
  const second = await changePolicy(store, policy, { priority: 9 });
  const changed = await found('own');
  assert.notEqual(changed, first);
  assert.deepEqual(changed.policies, [second]);
  await putSettings(changed, { defaultClassification: 'Confidential' });
  const settled = await found('own');
  assert.notEqual(settled, changed);
  assert.deepEqual([settled.defaultClassification, settled.policies], ['Confidential', [second]]);
  assert.equal(settled.policies[0], changed.policies[0], 'its policy is the same');
});

test('a policy that is added, switched off or deleted counts at once', async () => {
  const one = await makePolicy(store, 'switched', 'One');
  const first = await found('switched');
  const two = await makePolicy(store, 'switched', 'Two');
  assert.deepEqual((await found('switched')).policies, [one, two]);
  const off = await changePolicy(store, two, { status: 'Inactive' });
  assert.deepEqual((await found('switched')).policies, first.policies);
  assert.notEqual((await found('switched')).holdsAsOf, first.holdsAsOf, 'a removal must look again');
  await changePolicy(store, one, { status: 'Deleted' });
  assert.deepEqual((await found('switched')).policies, []);
  const on = await changePolicy(store, off, { status: 'Active' });
  assert.deepEqual((await found('switched')).policies, [on]);
});
