import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AuditError, operationNamed, type TenantId } from '@tallystick/contract';
import { admitTenant, provideTenant } from '../gateway/tenant-state.ts';
import { createFakeClock } from '../testing/fake-clock.ts';
import { createTenancy } from './tenancy.ts';
import type { TenantRecord, Tenants } from './tenants.ts';

const record = (tenantId: TenantId, facts: Partial<TenantRecord> = {}): TenantRecord => ({
  tenantId,
  tier: 'Standard',
  region: undefined,
  status: 'Active',
  defaultClassification: 'Internal',
  defaultRetention: 'P7Y',
  fourEyes: false,
  fingerprintKey: new Uint8Array(32),
  createdAtMs: 0,
  updatedAtMs: 0,
  version: 0,
  holds: [],
  holdsAsOf: '0',
  policies: [],
  ...facts,
});

function setUp(settings: { autoProvision?: boolean; region?: string } = {}) {
  const kept = new Map(
    [
      record('acme'),
      record('late', { status: 'Suspended' }),
      record('gone', { status: 'Closed' }),
      record('pinned', { region: 'eu' }),
    ].map((each) => [each.tenantId, each]),
  );
  /** Those that were made. */
  const ensured: TenantId[] = [];
  const tenants: Pick<Tenants, 'find' | 'ensure'> = {
    find: (id) => Promise.resolve(kept.get(id)),
    ensure: (id) => {
      const found = kept.get(id);
      if (found !== undefined) return Promise.resolve(found);
      ensured.push(id);
      return Promise.resolve(record(id));
    },
  };
  const { autoProvision = true, region } = settings;
  return { ensured, tenancy: createTenancy({ tenants, clock: createFakeClock(), autoProvision, region }) };
}

async function outcome(run: () => Promise<TenantRecord | undefined>): Promise<string | undefined> {
  try {
    return (await run())?.tenantId;
  } catch (error) {
    return error instanceof AuditError ? error.code : String(error);
  }
}

test('only active tenants of this region are admitted; unknown ones are unknown', async () => {
  const table: [TenantId, string | undefined, string | undefined][] = [
    ['acme', undefined, 'acme'],
    ['acme', 'us', 'acme'],
    ['late', undefined, 'TENANT_SUSPENDED'],
    ['gone', undefined, 'TENANT_SUSPENDED'],
    ['pinned', undefined, 'pinned'],
    ['pinned', 'eu', 'pinned'],
    ['pinned', 'us', 'RESIDENCY_VIOLATION'],
    ['new', 'us', undefined],
  ];
  for (const [tenant, region, expected] of table) {
    const { tenancy, ensured } = setUp(region === undefined ? {} : { region });
    assert.equal(await outcome(() => tenancy.admit(tenant)), expected, `${tenant} in ${region}`);
    assert.deepEqual(ensured, []);
  }
});

test('a tenant comes into being when it is provided for, if the settings let it', async () => {
  const open = setUp();
  assert.equal(await outcome(() => open.tenancy.provide('new')), 'new');
  assert.equal(await outcome(() => open.tenancy.provide('acme')), 'acme');
  assert.equal(await outcome(() => open.tenancy.provide('late')), 'TENANT_SUSPENDED');
  assert.deepEqual(open.ensured, ['new']);
  const closed = setUp({ autoProvision: false });
  assert.equal(await outcome(() => closed.tenancy.provide('new')), 'TENANT_NOT_FOUND');
  assert.equal(await outcome(() => closed.tenancy.provide('acme')), 'acme');
  assert.deepEqual(closed.ensured, []);
});

test('the gateway admits the tenant of a call, and provides for it only before a write', async () => {
  const { tenancy, ensured } = setUp();
  const [read, write] = [operationNamed('events.get'), operationNamed('events.ingest')];
  assert.equal(await outcome(() => admitTenant(read, 'late', tenancy)), 'TENANT_SUSPENDED');
  assert.equal(await outcome(() => admitTenant(write, 'acme', tenancy)), 'acme');
  assert.equal(await outcome(() => admitTenant(operationNamed('health.get'), undefined, tenancy)), undefined);
  assert.equal(await outcome(() => provideTenant(read, 'new', undefined, tenancy)), undefined);
  const changing = operationNamed('policies.delete');
  assert.equal(await outcome(() => provideTenant(changing, 'new', undefined, tenancy)), undefined);
  assert.deepEqual(ensured, []);
  assert.equal(await outcome(() => provideTenant(write, 'new', undefined, tenancy)), 'new');
  assert.equal(await outcome(() => provideTenant(write, 'acme', record('acme'), tenancy)), 'acme');
  assert.deepEqual(ensured, ['new']);
});

test('a manager of tenants reaches a suspended one, and makes none by naming it', async () => {
  const { tenancy, ensured } = setUp();
  const change = operationNamed('tenants.replace');
  assert.equal(await outcome(() => admitTenant(change, 'late', tenancy)), undefined);
  assert.equal(await outcome(() => provideTenant(change, 'new', undefined, tenancy)), undefined);
  assert.deepEqual(ensured, []);
});

test('what can be no tenant is looked up nowhere', async () => {
  const asked: TenantId[] = [];
  const admit = async (id: TenantId) => {
    asked.push(id);
    return undefined;
  };
  const ofPath = operationNamed('log.checkpoint');
  assert.equal(ofPath.tenant, 'Addressed');
  for (const id of ['a,b', '\u0000', '', "x'", 'a'.repeat(1000), 'acme'])
    assert.equal(await outcome(() => admitTenant(ofPath, id, { admit })), undefined);
  assert.deepEqual(asked, ['acme']);
});
