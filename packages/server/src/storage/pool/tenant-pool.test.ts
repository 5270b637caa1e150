import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TenantId } from '@tallystick/contract';
import type { StoredTenant } from '../../access/tenants.ts';
import { TenantPool } from './tenant-pool.ts';

/** Tenants whose names begin with `t` exist; queries for `broken` fail. */
function setUp() {
  const asked: (readonly TenantId[])[] = [];
  const pool = new TenantPool(async (ids) => {
    asked.push(ids);
    if (ids.includes('broken')) throw new Error('the database says no');
    const found = ids.filter((id) => id.startsWith('t'));
    return new Map(found.map((tenantId) => [tenantId, { tenantId } as StoredTenant]));
  });
  return { asked, ask: async (id: TenantId) => (await pool.ask(id))?.tenantId };
}

test('concurrent lookups share one statement, and each gets its own tenant or none', async () => {
  const { asked, ask } = setUp();
  assert.deepEqual(await Promise.all(['t1', 'x', 't2', 't1'].map(ask)), ['t1', undefined, 't2', 't1']);
  assert.deepEqual(asked, [['t1', 'x', 't2']]);
  // It is queried again: nothing is cached here.
  assert.equal(await ask('t1'), 't1');
  assert.equal(asked.length, 2);
});

test('a failure affects the lookups that share the statement, and no later ones', async () => {
  const { ask } = setUp();
  const [broken, beside] = [ask('broken'), ask('t1')];
  await assert.rejects(broken, /says no/);
  await assert.rejects(beside, /says no/);
  assert.equal(await ask('t1'), 't1');
});

test('ten thousand lookups are sent five hundred at a time', async () => {
  const { asked, ask } = setUp();
  const ids = Array.from({ length: 10_000 }, (_, i) => `t${i}`);
  assert.deepEqual(await Promise.all(ids.map(ask)), ids);
  assert.deepEqual(
    asked.map((those) => those.length),
    Array.from({ length: 20 }, () => 500),
  );
});
