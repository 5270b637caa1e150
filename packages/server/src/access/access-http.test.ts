// Who is let in, by the real service over real HTTP, with the keys, tokens and tenants that its data directory holds.

import assert from 'node:assert/strict';
import type { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import type { Role, Scope } from '@tallystick/contract';
import { loadOrMakeTokenKey } from '../storage/keys/token-key.ts';
import { ask as askOf } from '../testing/ask.ts';
import { EVENT } from '../testing/bound-operations.ts';
import { startTestApp, type TestApp } from '../testing/test-app.ts';
import { openRunningJournal } from '../testing/running-journal.ts';
import { signToken } from './local-issuer.ts';

const ADMIN_KEY = 'the-platform-key-of-these-tests';

type Headers = Record<string, string>;

const startApp = (settings: Headers = {}) => startTestApp({ TALLYSTICK_ADMIN_KEY: ADMIN_KEY, ...settings });

const ask = (app: TestApp, path: string, headers: Headers, method = 'GET', body?: unknown) =>
  askOf<Record<string, unknown>>(app, method, `/api/v1${path}`, { headers, body });

const send = async (app: TestApp, headers: Headers) =>
  (await ask(app, '/audit-events', headers, 'POST', EVENT)).code;

const asAdmin = (tenant: string, more: Headers = {}) => ({
  'X-API-Key': ADMIN_KEY,
  'X-Tenant-Id': tenant,
  ...more,
});

async function makeKey(app: TestApp, tenant: string, request: object, headers: Headers = asAdmin(tenant)) {
  const { code, body } = await ask(app, '/admin/api-keys', headers, 'POST', { name: 'test', ...request });
  assert.equal(code, '201');
  return body as { keyId: string; key: string; createdBy: string };
}

async function tokenFor(
  app: TestApp,
  tenant: string,
  roles: Role[],
  scopes: Scope[],
  nowMs = Date.now(),
): Promise<string> {
  const key = await loadOrMakeTokenKey(app.dataDirectory, 'test');
  const request = { tenant, subject: 'ana', roles, scopes, clearance: undefined, lifetimeSeconds: 60 };
  return `Bearer ${await signToken(key, request, nowMs)}`;
}

function inDatabase<T>(app: TestApp, work: (db: DatabaseSync) => T): T {
  using db = openRunningJournal(app.dataDirectory);
  return work(db);
}

const tenantsOf = (app: TestApp) =>
  inDatabase(app, (db) =>
    db
      .prepare("SELECT tenant_id FROM tenants WHERE tenant_id <> '*' ORDER BY 1")
      .all()
      .map((row) => row['tenant_id']),
  );

test('credential, tenant and permission are judged in that order, by keys and tokens alike', async () => {
  await using app = await startApp();
  const operator = (await makeKey(app, 'acme', { roles: ['Operator'] })).key;
  const viewer = (await makeKey(app, 'acme', { roles: ['Viewer'] })).key;
  const writer = await tokenFor(app, 'acme', [], ['audit:write']);
  const reader = await tokenFor(app, 'acme', ['Admin'], ['audit:read']);
  const demoted = await tokenFor(app, 'acme', ['Viewer'], ['audit:write']);
  const old = await tokenFor(app, 'acme', [], ['audit:write'], Date.now() - 100_000);
  const acme = { 'X-Tenant-Id': 'acme' };
  const table: [string, Headers, string][] = [
    ['nobody', acme, '401 UNAUTHENTICATED'],
    ['an unknown key', { ...acme, 'X-API-Key': 'who-knows-this-key-here' }, '401 UNAUTHENTICATED'],
    ['a key', { ...acme, 'X-API-Key': operator }, '201'],
    ['a key without a tenant', { 'X-API-Key': operator }, '400 MISSING_TENANT'],
    ['a key of another tenant', { 'X-API-Key': operator, 'X-Tenant-Id': 'other' }, '403 TENANT_MISMATCH'],
    ['a key whose role may not', { ...acme, 'X-API-Key': viewer }, '403 FORBIDDEN'],
    [
      'one of another tenant whose role may not',
      { 'X-API-Key': viewer, 'X-Tenant-Id': 'other' },
      '403 TENANT_MISMATCH',
    ],
    ['the platform key for any tenant', asAdmin('acme'), '201'],
    ['the platform key without one', { 'X-API-Key': ADMIN_KEY }, '400 MISSING_TENANT'],
    ['a token, whose claim is the tenant', { Authorization: writer }, '201'],
    ['a token with another header', { Authorization: writer, 'X-Tenant-Id': 'other' }, '403 TENANT_MISMATCH'],
    ['a token without the scope', { Authorization: reader }, '403 INSUFFICIENT_SCOPE'],
    ['a token without the role', { Authorization: demoted }, '403 FORBIDDEN'],
    ['a token that has ended', { Authorization: old }, '401 TOKEN_EXPIRED'],
    ['a token that is none', { Authorization: 'Bearer x.y.z', ...acme }, '401 UNAUTHENTICATED'],
    ['another scheme', { Authorization: 'Basic eDp5', ...acme }, '401 UNAUTHENTICATED'],
    ['two that agree', { Authorization: writer, 'X-API-Key': operator }, '201'],
    ['two of which one may not', { Authorization: writer, 'X-API-Key': viewer }, '403 FORBIDDEN'],
    ['a good token beside a bad key', { Authorization: writer, 'X-API-Key': 'bad' }, '401 UNAUTHENTICATED'],
    [
      'a good key beside a bad token',
      { Authorization: 'Bearer bad', 'X-API-Key': operator, ...acme },
      '401 UNAUTHENTICATED',
    ],
  ];
  for (const [what, headers, expected] of table) assert.equal(await send(app, headers), expected, what);
  const { headers } = await ask(app, '/audit-events', acme, 'POST', EVENT);
  assert.equal(headers.get('www-authenticate'), 'Bearer');
  assert.ok(!JSON.stringify(app.lines).includes(operator), 'a key is in the diagnostics');
});

test('a tenant comes into being at its first write, and not by a request that is refused', async () => {
  await using app = await startApp();
  assert.equal(
    (await ask(app, '/audit-events', asAdmin('bad'), 'POST', { ...EVENT, action: '' })).status,
    422,
  );
  assert.equal(
    (await ask(app, '/audit-events/01KE0000000000000000000042', asAdmin('seen'))).code,
    '404 EVENT_NOT_FOUND',
  );
  assert.equal(
    await send(app, { 'X-API-Key': 'unknown-key-unknown-key', 'X-Tenant-Id': 'stranger' }),
    '401 UNAUTHENTICATED',
  );
  assert.deepEqual(tenantsOf(app), []);
  assert.equal(await send(app, asAdmin('new')), '201');
  assert.deepEqual(tenantsOf(app), ['new']);
});

test('where tenants are not made by themselves, an unknown one is 404', async () => {
  await using app = await startApp({ Tenants__AutoProvision: 'false' });
  assert.equal(await send(app, asAdmin('new')), '404 TENANT_NOT_FOUND');
  const made = await ask(app, '/admin/api-keys', asAdmin('new'), 'POST', { name: 'x', roles: ['Viewer'] });
  assert.equal(made.code, '404 TENANT_NOT_FOUND');
  assert.deepEqual(tenantsOf(app), []);
});

test('tenants that the settings name are there, and no others are made', async () => {
  await using app = await startApp({ Tenants__AutoProvision: 'false', Tenants__Names: 'acme, globex' });
  assert.deepEqual(tenantsOf(app), ['acme', 'globex']);
  assert.equal(await send(app, asAdmin('globex')), '201');
  assert.equal(await send(app, asAdmin('new')), '404 TENANT_NOT_FOUND');
});

test('a suspended or closed tenant is refused, and so is one of another region', async () => {
  await using app = await startApp({ Tenants__Region: 'eu' });
  assert.equal(await send(app, asAdmin('acme')), '201');
  const change = async (settings: object) => {
    const changed = await ask(app, '/admin/tenants/acme', asAdmin('acme'), 'PUT', settings);
    assert.equal(changed.code, '200');
  };
  for (const status of ['Suspended', 'Closed']) {
    await change({ status });
    assert.equal(await send(app, asAdmin('acme')), '403 TENANT_SUSPENDED', status);
    assert.equal((await ask(app, '/audit-events/x', asAdmin('acme'))).code, '403 TENANT_SUSPENDED', status);
  }
  await change({ status: 'Active', region: 'us' });
  assert.equal(await send(app, asAdmin('acme')), '403 RESIDENCY_VIOLATION');
  await change({ region: 'eu' });
  assert.equal(await send(app, asAdmin('acme')), '201');
});

test('keys are made, shown, rotated and revoked, and each change is in the log of the tenant', async () => {
  await using app = await startApp();
  const first = await makeKey(app, 'acme', { roles: ['Operator'], clearance: 'Confidential' });
  const asFirst = { 'X-API-Key': first.key, 'X-Tenant-Id': 'acme' };
  assert.equal(await send(app, asFirst), '201');
  const path = `/admin/api-keys/${first.keyId}`;
  const got = await ask(app, path, asAdmin('acme'));
  assert.deepEqual(
    [got.body['status'], got.body['clearance'], got.body['key']],
    ['Active', 'Confidential', undefined],
  );
  const rotated = await ask(app, `${path}/rotate`, asAdmin('acme'), 'POST', { gracePeriod: 'PT0S' });
  assert.equal(rotated.code, '201');
  assert.equal(rotated.headers.get('location'), `/api/v1/admin/api-keys/${String(rotated.body['keyId'])}`);
  assert.equal(rotated.body['rotatedFrom'], first.keyId);
  assert.equal(await send(app, asFirst), '401 API_KEY_REVOKED');
  const asSecond = { 'X-API-Key': String(rotated.body['key']), 'X-Tenant-Id': 'acme' };
  assert.equal(await send(app, asSecond), '201');
  const removed = await ask(
    app,
    `/admin/api-keys/${String(rotated.body['keyId'])}`,
    asAdmin('acme'),
    'DELETE',
  );
  assert.equal(removed.code, '204');
  assert.equal(await send(app, asSecond), '401 API_KEY_REVOKED');
  assert.equal((await ask(app, `${path}/rotate`, asAdmin('acme'), 'POST')).code, '404 KEY_NOT_FOUND');
  const acts = inDatabase(app, (db) =>
    db
      .prepare(
        `SELECT text2 FROM contents JOIN entries USING (id) JOIN tenants USING (tenant)
         WHERE tenant_id = 'acme' AND instr(text2, 'act') ORDER BY id`,
      )
      .all()
      .map((row) => (JSON.parse(Buffer.from(row['text2'] as Uint8Array).toString()) as Noted).payload),
  );
  assert.deepEqual(
    acts.map(({ act, subjectIds }) => [act, ...subjectIds]),
    [
      ['KeyCreated', first.keyId],
      ['KeyRotated', first.keyId],
      ['KeyCreated', rotated.body['keyId']],
      ['KeyRevoked', rotated.body['keyId']],
    ],
  );
});

interface Noted {
  readonly payload: { readonly act: string; readonly subjectIds: string[] };
}

test('a repeated request for a key gives the first answer, but for the secret', async () => {
  await using app = await startApp();
  const keyed = asAdmin('acme', { 'Idempotency-Key': 'k-1' });
  const request = { name: 'ci', roles: ['Viewer'] };
  const made = await ask(app, '/admin/api-keys', keyed, 'POST', request);
  const again = await ask(app, '/admin/api-keys', keyed, 'POST', request);
  const { key, ...facts } = made.body;
  assert.match(String(key), /^tsk_/);
  assert.deepEqual([again.code, again.body], ['200', facts]);
  assert.equal(again.headers.get('location'), made.headers.get('location'));
  assert.equal(
    (await ask(app, '/admin/api-keys', keyed, 'POST', { ...request, name: 'x' })).code,
    '409 IDEMPOTENCY_KEY_REUSED',
  );
});

test('a request for a key of another tenant is repeated in the log of that tenant', async () => {
  await using app = await startApp();
  const keyed = asAdmin('acme', { 'Idempotency-Key': 'k-1' });
  const post = (path: string, body: object, headers: Headers = keyed) =>
    ask(app, `/admin/api-keys${path}`, headers, 'POST', body);
  const request = { name: 'ci', roles: ['Admin'], tenantId: 'other' };
  const made = await post('', request);
  const again = await post('', request);
  assert.deepEqual([made.code, again.code], ['201', '200'], 'the first write of the tenant, too');
  assert.equal(again.body['keyId'], made.body['keyId']);
  assert.equal((await post('', { ...request, name: 'x' })).code, '409 IDEMPOTENCY_KEY_REUSED');
  const rotated = await post(`/${String(made.body['keyId'])}/rotate`, {});
  const rotatedAgain = await post(`/${String(made.body['keyId'])}/rotate`, {});
  assert.deepEqual([rotated.code, rotatedAgain.code], ['201', '200']);
  assert.equal(rotatedAgain.body['keyId'], rotated.body['keyId']);

  const own = await post('', { ...request, tenantId: 'acme' });
  assert.deepEqual([own.code, own.body['tenantId']], ['201', 'acme'], 'a key stands for one tenant');
  const second = { ...keyed, 'Idempotency-Key': 'k-2' };
  assert.equal((await post('', request, second)).code, '201');
  const ofAcme = { ...second, 'X-API-Key': String(own.body['key']) };
  for (const name of ['ci', 'x']) {
    const refused = await post('', { ...request, name }, ofAcme);
    assert.equal(refused.code, '403 TENANT_MISMATCH', 'who cannot reach it learns nothing of its keys');
  }
  const third = { ...keyed, 'Idempotency-Key': 'k-3' };
  assert.equal((await post('', { ...request, tenantId: 'not one' }, third)).code, '422 VALIDATION_FAILED');
  assert.equal((await post('/nothing/rotate', {})).code, '404 KEY_NOT_FOUND');
  const ofPlatform = () => post('', { ...request, tenantId: '*' }, third);
  const [first, repeated] = [await ofPlatform(), await ofPlatform()];
  assert.deepEqual([first.code, repeated.code], ['201', '200'], 'the log of the installation remembers it');
  assert.equal(repeated.body['keyId'], first.body['keyId']);
});

test('a tenant’s Admin reaches the keys of that tenant only, the platform’s those of all', async () => {
  await using app = await startApp();
  const admin = await makeKey(app, 'acme', { roles: ['Admin'] });
  const theirs = await makeKey(app, 'other', { roles: ['Viewer'] });
  const asTenant = { 'X-API-Key': admin.key, 'X-Tenant-Id': 'acme' };
  const path = `/admin/api-keys/${theirs.keyId}`;
  assert.equal((await ask(app, path, asTenant)).code, '404 KEY_NOT_FOUND');
  assert.equal((await ask(app, path, asTenant, 'DELETE')).code, '404 KEY_NOT_FOUND');
  assert.equal((await ask(app, `${path}/rotate`, asTenant, 'POST')).code, '404 KEY_NOT_FOUND');
  const request = { name: 'x', roles: ['Viewer'] };
  const ofOther = await ask(app, '/admin/api-keys', asTenant, 'POST', { ...request, tenantId: 'other' });
  assert.equal(ofOther.code, '403 TENANT_MISMATCH');
  const ofAll = await ask(app, '/admin/api-keys', asTenant, 'POST', { ...request, tenantId: '*' });
  assert.equal(ofAll.code, '403 FORBIDDEN');
  assert.equal((await makeKey(app, 'acme', request, asTenant)).createdBy, `key:${admin.keyId}`);
  assert.equal((await ask(app, path, asAdmin('acme'), 'DELETE')).code, '204');
  const platform = await makeKey(app, 'acme', { ...request, roles: ['Admin'], tenantId: '*' });
  assert.equal(await send(app, { 'X-API-Key': platform.key, 'X-Tenant-Id': 'third' }), '201');
});

test('a foreign tenant is told before the fields, and all that is wrong at once', async () => {
  await using app = await startApp();
  const admin = asAdmin('acme');
  const tenantAdmin = await ask(app, '/admin/api-keys', admin, 'POST', { name: 'own', roles: ['Admin'] });
  const own = { 'X-API-Key': String(tenantAdmin.body['key']), 'X-Tenant-Id': 'acme' };
  const foreign = { tenantId: 'beta', name: 5, more: 1 };
  assert.equal((await ask(app, '/admin/api-keys', own, 'POST', foreign)).code, '403 TENANT_MISMATCH');
  const wrong = { name: '', more: 1, expiresAt: '2020-01-01T00:00:00Z', roles: Array(5).fill('Viewer') };
  const { code, body } = await ask(app, '/admin/api-keys', own, 'POST', wrong);
  assert.equal(code, '422 VALIDATION_FAILED');
  const { details } = body['error'] as { details: { field: string }[] };
  assert.deepEqual(details.map(({ field }) => field).toSorted(), ['expiresAt', 'more', 'name', 'roles']);
});

test('nobody hands out more than they have', async () => {
  await using app = await startApp();
  const limited = await makeKey(app, 'acme', { scopes: ['audit:keys', 'audit:read'] });
  const asLimited = { 'X-API-Key': limited.key, 'X-Tenant-Id': 'acme' };
  const strong = await makeKey(app, 'acme', { roles: ['Auditor'] });
  const table: [object, string][] = [
    [{ roles: ['Admin'] }, '403 FORBIDDEN'],
    [{ scopes: ['audit:write'] }, '403 FORBIDDEN'],
    [{ scopes: ['audit:read'], clearance: 'Secret' }, '403 FORBIDDEN'],
    [{ scopes: ['audit:read'], expiresAt: '2020-01-01T00:00:00Z' }, '422 VALIDATION_FAILED'],
    [{ scopes: ['audit:read'] }, '201'],
    [{}, '201'],
  ];
  for (const [request, expected] of table) {
    const { code } = await ask(app, '/admin/api-keys', asLimited, 'POST', { name: 'x', ...request });
    assert.equal(code, expected, JSON.stringify(request));
  }
  assert.equal(
    (await ask(app, `/admin/api-keys/${strong.keyId}/rotate`, asLimited, 'POST')).code,
    '403 FORBIDDEN',
  );
});
