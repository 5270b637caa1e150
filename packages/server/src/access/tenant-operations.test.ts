// A platform Admin makes and changes tenants, through the whole service.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { List, Tenant } from '@tallystick/contract';
import { ask as askOf, type Told } from '../testing/ask.ts';
import { EVENT } from '../testing/bound-operations.ts';
import { PLATFORM_KEY, WITH_PLATFORM_KEY } from '../testing/admin-caller.ts';
import { openRunningJournal } from '../testing/running-journal.ts';
import { startTestApp, type TestApp } from '../testing/test-app.ts';
import { until } from '../testing/until.ts';

let app: TestApp;
before(async () => {
  app = await startTestApp(WITH_PLATFORM_KEY);
});
after(() => app[Symbol.asyncDispose]());

const ask = <T = Tenant>(method: string, path: string, body?: object, headers: Record<string, string> = {}) =>
  askOf<T>(app, method, `/api/v1${path}`, { key: PLATFORM_KEY, tenant: 'acme', headers, body });
const etagOf = ({ headers }: Told) => headers.get('ETag');

const create = (tenant: object, more?: Record<string, string>) => ask('POST', '/admin/tenants', tenant, more);
const send = (tenant: string) => ask('POST', '/audit-events', EVENT, { 'X-Tenant-Id': tenant });

test('a tenant is made with the settings that it is given, and the usual ones for the rest', async () => {
  const made = await create({ tenantId: 'made', tier: 'Premium', defaultRetention: 'P1Y' });
  assert.deepEqual([made.code, etagOf(made)], ['201', '"1"']);
  const { createdAt, updatedAt, ...facts } = made.body;
  assert.deepEqual(facts, {
    tenantId: 'made',
    tier: 'Premium',
    status: 'Active',
    defaultClassification: 'Internal',
    defaultRetention: 'P1Y',
    fourEyes: false,
    version: 1,
  });
  assert.ok(createdAt <= updatedAt);
  const got = await ask('GET', '/admin/tenants/made');
  assert.deepEqual([got.code, etagOf(got), got.body], ['200', '"1"', made.body]);
  assert.equal((await send('made')).code, '201');
});

test('who has the version that a tenant has is told so', async () => {
  await create({ tenantId: 'read' });
  const statusWith = async (tag: string) => {
    const headers = { 'X-API-Key': PLATFORM_KEY, 'X-Tenant-Id': 'acme', 'If-None-Match': tag };
    const response = await fetch(`${app.url}/api/v1/admin/tenants/read`, { headers });
    return [response.status, response.headers.get('ETag'), (await response.text()).length > 0];
  };
  assert.deepEqual(await statusWith('"1"'), [304, '"1"', false]);
  assert.deepEqual(await statusWith('"2", W/"1"'), [304, '"1"', false]);
  assert.deepEqual(await statusWith('"2"'), [200, '"1"', true]);
});

test('a retention of no time and a region that no installation can have are refused', async () => {
  for (const defaultRetention of ['P0D', 'PT0S', 'P0Y', '7Y'])
    assert.equal((await create({ tenantId: 'short', defaultRetention })).code, '422 VALIDATION_FAILED');
  for (const region of ['', 'a b', '-eu', 'e'.repeat(65)])
    assert.equal((await create({ tenantId: 'nowhere', region })).code, '422 VALIDATION_FAILED', region);
});

test('the diagnostics say who changed a tenant', async () => {
  await create({ tenantId: 'said' });
  await ask('PUT', '/admin/tenants/said', { status: 'Suspended' });
  const lines = app.lines.filter(
    ({ message, tenant }) => message === 'a tenant is changed' && tenant === 'said',
  );
  assert.deepEqual(
    lines.map(({ level, version, status }) => [level, version, status]),
    [
      ['Info', 1, 'Active'],
      ['Info', 2, 'Suspended'],
    ],
  );
  for (const { caller } of lines) assert.match(String(caller), /^key:/);
});

test('a name is given once: also where the tenant came into being by a write', async () => {
  await create({ tenantId: 'twice' });
  assert.equal((await create({ tenantId: 'twice' })).code, '409 DUPLICATE_NAME');
  await send('written');
  assert.equal((await create({ tenantId: 'written' })).code, '409 DUPLICATE_NAME');
  assert.equal((await ask('GET', '/admin/tenants/written')).body.version, 0);
});

test('what is not sent stays as it is, and a tag that is not the newest changes nothing', async () => {
  await create({ tenantId: 'changed', region: 'eu', fourEyes: true });
  const first = await ask('PUT', '/admin/tenants/changed', { tier: 'Premium' }, { 'If-Match': '"1"' });
  assert.deepEqual(
    [first.code, etagOf(first), first.body.tier, first.body.region, first.body.fourEyes],
    ['200', '"2"', 'Premium', 'eu', true],
  );
  const stale = await ask('PUT', '/admin/tenants/changed', { tier: 'Standard' }, { 'If-Match': '"1"' });
  assert.equal(stale.code, '409 VERSION_CONFLICT');
  const freed = await ask('PUT', '/admin/tenants/changed', { region: null });
  assert.deepEqual([freed.code, freed.body.region, freed.body.version], ['200', undefined, 3]);
  assert.equal((await ask('PUT', '/admin/tenants/nobody', { tier: 'Premium' })).code, '404 TENANT_NOT_FOUND');
});

test('of a hundred who change it from one version one does, and without a tag all do', async () => {
  await create({ tenantId: 'contested' });
  const change = (headers = {}) => ask('PUT', '/admin/tenants/contested', { fourEyes: true }, headers);
  const codes = await Promise.all(Array.from({ length: 100 }, () => change({ 'If-Match': '"1"' })));
  const counts = Map.groupBy(codes, ({ code }) => code);
  assert.deepEqual([counts.get('200')?.length, counts.get('409 VERSION_CONFLICT')?.length], [1, 99]);
  const all = await Promise.all(Array.from({ length: 5 }, () => change()));
  assert.deepEqual(new Set(all.map(({ code }) => code)), new Set(['200']));
  assert.equal((await ask('GET', '/admin/tenants/contested')).body.version, 7);
});

test('a suspended tenant is refused for every caller until it is active again', async () => {
  await create({ tenantId: 'held' });
  await send('held');
  for (const status of ['Suspended', 'Closed']) {
    await ask('PUT', '/admin/tenants/held', { status });
    assert.equal((await send('held')).code, '403 TENANT_SUSPENDED');
    assert.equal(
      (await ask('GET', '/audit-events', undefined, { 'X-Tenant-Id': 'held' })).code,
      '403 TENANT_SUSPENDED',
    );
  }
  await ask('PUT', '/admin/tenants/held', { status: 'Active' }, { 'X-Tenant-Id': 'held' });
  assert.equal((await send('held')).code, '201');
});

test('they are listed by name, page by page, by status, and never the installation', async () => {
  for (const tenantId of ['list-a', 'list-b', 'list-c']) await create({ tenantId });
  await ask('PUT', '/admin/tenants/list-b', { status: 'Closed' });
  const names: string[] = [];
  for (let path = '/admin/tenants?limit=2'; ; ) {
    const { body } = await ask<List<Tenant>>('GET', path);
    names.push(...body.data.map(({ tenantId }) => tenantId));
    if (body.pagination.cursor === null) break;
    path = `/admin/tenants?limit=2&cursor=${body.pagination.cursor}`;
  }
  assert.deepEqual(names, [...new Set(names)].toSorted());
  assert.ok(['list-a', 'list-b', 'list-c'].every((name) => names.includes(name)) && !names.includes('*'));
  const closed = await ask<List<Tenant>>('GET', '/admin/tenants?status=Closed');
  assert.deepEqual(
    closed.body.data.map(({ tenantId }) => tenantId),
    ['list-b'],
  );
});

test('each change is a notice of the tenant, and a key of the tenant itself may do none of it', async () => {
  await create({ tenantId: 'told' });
  await ask('PUT', '/admin/tenants/told', { tier: 'Premium' });
  const own = { 'X-Tenant-Id': 'told' };
  const seen = async () =>
    (await ask<List<{ action: string }>>('GET', '/audit-events?kind=Notice', undefined, own)).body.data;
  // The index comes a moment after the log.
  await until(async () => (await seen()).length === 2);
  const actions = (await seen()).map(({ action }) => action);
  assert.deepEqual(actions.toSorted(), ['Create.Tenant', 'Update.Tenant']);
  const made = await ask<{ key: string }>('POST', '/admin/api-keys', { name: 'own', roles: ['Admin'] }, own);
  const admin = { ...own, 'X-API-Key': made.body.key };
  assert.equal((await ask('GET', '/admin/tenants/told', undefined, admin)).code, '403 FORBIDDEN');
  assert.equal((await ask('PUT', '/admin/tenants/told', { tier: 'Standard' }, admin)).code, '403 FORBIDDEN');
});

test('a repeat by its key is answered again, and nothing is done twice', async () => {
  const key = { 'Idempotency-Key': 'make-once' };
  const made = await create({ tenantId: 'once' }, key);
  const again = await create({ tenantId: 'once' }, key);
  assert.deepEqual([made.code, again.code, again.body], ['201', '200', made.body]);
  assert.equal((await create({ tenantId: 'once', tier: 'Premium' }, key)).code, '409 IDEMPOTENCY_KEY_REUSED');
  const put = () => ask('PUT', '/admin/tenants/once', { tier: 'Premium' }, { 'Idempotency-Key': 'put-once' });
  const first = await put();
  assert.deepEqual([first.code, (await put()).body.version], ['200', 2]);
  assert.equal((await ask('PUT', '/admin/tenants/once', { tier: 'Standard', region: 'eu' })).body.version, 3);
  assert.deepEqual(
    [(await put()).body, (await create({ tenantId: 'once' }, key)).body],
    [first.body, made.body],
  );
});

test('of many who make one tenant at once one does', async () => {
  const made = await Promise.all(
    Array.from({ length: 20 }, (_, i) => create({ tenantId: 'raced', region: `r${i}` })),
  );
  assert.equal(made.filter(({ code }) => code === '201').length, 1);
  assert.equal(made.filter(({ code }) => code === '409 DUPLICATE_NAME').length, 19);
  assert.equal((await ask('GET', '/admin/tenants/raced')).body.version, 1);
});

test('of many repeats at once one makes the tenant, and the others get its answer', async () => {
  const key = { 'Idempotency-Key': 'raced-once' };
  const made = await Promise.all(Array.from({ length: 20 }, () => create({ tenantId: 'repeated' }, key)));
  const codes = made.map(({ code }) => code).toSorted();
  assert.deepEqual(codes, [...Array.from({ length: 19 }, () => '200'), '201']);
});

test('a key of a suspended tenant can still be revoked', async () => {
  const own = { 'X-Tenant-Id': 'leaked' };
  const { body } = await ask<{ keyId: string }>(
    'POST',
    '/admin/api-keys',
    { name: 'k', roles: ['Viewer'] },
    own,
  );
  await ask('PUT', '/admin/tenants/leaked', { status: 'Suspended' });
  const headers = { 'X-API-Key': PLATFORM_KEY, 'X-Tenant-Id': 'acme' };
  const path = `${app.url}/api/v1/admin/api-keys/${body.keyId}`;
  assert.equal((await fetch(path, { method: 'DELETE', headers })).status, 204);
});

test('a tenant whose record was altered is served again only with all its settings', async () => {
  await create({ tenantId: 'altered', region: 'eu', fourEyes: true, defaultClassification: 'Secret' });
  {
    using db = openRunningJournal(app.dataDirectory);
    db.exec(
      "UPDATE records SET mac = zeroblob(32) WHERE kind = 'Tenant' AND tenant = (SELECT tenant FROM tenants WHERE tenant_id = 'altered')",
    );
    db.exec("UPDATE meta SET value = 'another' WHERE name = 'records_version'");
  }
  const read = () => ask('GET', '/admin/tenants/altered');
  await until(async () => (await read()).body.status === 'Suspended');
  const put = (settings: object) => ask('PUT', '/admin/tenants/altered', settings, { 'If-Match': '"1"' });
  assert.equal((await put({ status: 'Active' })).code, '422 VALIDATION_FAILED');
  const all = { tier: 'Standard', region: 'eu', status: 'Active', defaultClassification: 'Secret' };
  assert.equal((await put({ ...all, fourEyes: true })).code, '422 VALIDATION_FAILED');
  const { code, body } = await put({ ...all, fourEyes: true, defaultRetention: 'P30Y' });
  assert.deepEqual([code, body.region, body.fourEyes, body.version], ['200', 'eu', true, 2]);
  assert.equal((await read()).body.status, 'Active');
});
