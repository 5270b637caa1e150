// The list of API keys and their last uses, by the real service over real HTTP.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { ApiKey, List } from '@tallystick/contract';
import { ask as askOf } from '../testing/ask.ts';
import { openRunningJournal } from '../testing/running-journal.ts';
import { startTestApp, type TestApp } from '../testing/test-app.ts';

const ADMIN_KEY = 'the-platform-key-of-these-tests';
const KEYS = '/admin/api-keys';

type Listed = List<ApiKey>;

function ask<T = Listed>(app: TestApp, path: string, tenant: string, key = ADMIN_KEY, body?: unknown) {
  const whole = path.startsWith('/api') ? path : `/api/v1${path}`;
  return askOf<T>(app, body === undefined ? 'GET' : 'POST', whole, { key, tenant, body });
}

async function makeKey(app: TestApp, tenant: string, more: object = {}) {
  const request = { name: 'test', roles: ['Admin'], ...more };
  const { code, body } = await ask<ApiKey & { key: string }>(app, KEYS, tenant, ADMIN_KEY, request);
  assert.equal(code, '201');
  return body;
}

const idsOf = ({ data }: Listed) => data.map(({ keyId }) => keyId);
const start = (settings = {}) => startTestApp({ TALLYSTICK_ADMIN_KEY: ADMIN_KEY, ...settings });

test("lists a tenant's keys, newest first, without anything secret", async () => {
  await using app = await start();
  const first = await makeKey(app, 'acme', { clearance: 'Confidential', expiresAt: '2099-01-01T00:00:00Z' });
  const second = await makeKey(app, 'acme', { roles: ['Viewer'], name: 'büro' });
  await makeKey(app, 'other');
  const { code, body, text } = await ask(app, KEYS, 'acme', first.key);
  assert.equal(code, '200');
  assert.deepEqual(idsOf(body), [second.keyId, first.keyId]);
  const { key: _, ...made } = first;
  const { lastUsedAt, ...shown } = body.data[1]!;
  assert.deepEqual(shown, made);
  assert.ok(Math.abs(Date.parse(lastUsedAt!) - Date.now()) < 60_000);
  assert.ok(!('lastUsedAt' in body.data[0]!), 'nobody has used it');
  const { total, totalRelation, limit, hasMore } = body.pagination;
  assert.deepEqual([total, totalRelation, limit, hasMore], [2, 'Exact', 100, false]);
  using db = openRunningJournal(app.dataDirectory);
  const stored = db.prepare('SELECT lookup, salt, mac FROM records').all() as Record<string, Uint8Array>[];
  assert.equal(stored.length, 4);
  for (const bytes of stored.flatMap((row) => Object.values(row)))
    for (const form of ['hex', 'base64'] as const)
      assert.ok(!text.includes(Buffer.from(bytes).toString(form)), 'a hash is shown');
  for (const { key } of [first, second]) assert.ok(!text.includes(key.slice(31, 63)), 'a secret is shown');
});

test('pages lead on and back by their links', async () => {
  await using app = await start();
  const made: string[] = [];
  for (let i = 0; i < 5; i++) made.push((await makeKey(app, 'acme')).keyId);
  const newest = made.toReversed();
  const one = (await ask(app, `${KEYS}?limit=2`, 'acme')).body;
  const two = (await ask(app, one.links.next!, 'acme')).body;
  const three = (await ask(app, two.links.next!, 'acme')).body;
  assert.deepEqual([one, two, three].map(idsOf), [newest.slice(0, 2), newest.slice(2, 4), newest.slice(4)]);
  assert.deepEqual([one.pagination.total, three.pagination.cursor, three.links.next], [5, null, null]);
  assert.deepEqual(idsOf((await ask(app, three.links.previous!, 'acme')).body), idsOf(two));
  assert.equal((await ask(app, `${KEYS}?limit=0`, 'acme')).code, '400 INVALID_PARAMETER');
  assert.equal((await ask(app, `${KEYS}?status=Active`, 'acme')).code, '400 INVALID_PARAMETER');
  assert.equal((await ask(app, one.links.next!, 'other')).code, '400 CURSOR_MISMATCH');
});

test('only the platform reaches keys of others and its own; nobody without the permission reaches any', async () => {
  await using app = await start();
  const acme = await makeKey(app, 'acme');
  const viewer = await makeKey(app, 'acme', { roles: ['Viewer'] });
  const other = await makeKey(app, 'other');
  const listed = async (query: string, tenant: string, key?: string) => {
    const { code, body } = await ask(app, KEYS + query, tenant, key);
    return code === '200' ? idsOf(body) : code;
  };
  assert.deepEqual(await listed('', 'other'), [other.keyId]);
  assert.deepEqual(await listed('?tenantId=other', 'acme'), [other.keyId]);
  assert.deepEqual(await listed('?tenantId=acme', 'acme', acme.key), [viewer.keyId, acme.keyId]);
  assert.deepEqual(await listed('', 'nobody'), []);
  const platform = await ask(app, `${KEYS}?tenantId=*`, 'nobody');
  assert.deepEqual(
    platform.body.data.map(({ tenantId, roles }) => [tenantId, roles]),
    [['*', ['Admin']]],
  );
  assert.equal(await listed('?tenantId=other', 'acme', acme.key), '403 TENANT_MISMATCH');
  assert.equal(await listed('?tenantId=*', 'acme', acme.key), '403 FORBIDDEN');
  assert.equal(await listed('', 'other', acme.key), '403 TENANT_MISMATCH');
  assert.equal(await listed('', 'acme', viewer.key), '403 FORBIDDEN');
  assert.equal(await listed('?tenantId=-', 'acme'), '400 INVALID_PARAMETER');
});

test('a list of several pages needs a tenant that exists, since its cursors belong to one', async () => {
  await using app = await start();
  await makeKey(app, 'acme', { tenantId: '*' });
  const path = `${KEYS}?tenantId=*&limit=1`;
  assert.equal((await ask(app, path, 'nobody')).code, '404 TENANT_NOT_FOUND');
  await makeKey(app, 'acme');
  const { body } = await ask(app, path, 'acme');
  assert.equal(body.data.length, 1);
  assert.equal((await ask(app, body.links.next!, 'acme')).body.data.length, 1);
});

test('the last use of a key outlives the service, and a refused request counts', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tallystick-uses-'));
  try {
    const settings = { Storage__DataDirectory: join(folder, 'data') };
    const keys = await (async () => {
      await using app = await start(settings);
      const made = {
        used: await makeKey(app, 'acme'),
        refused: await makeKey(app, 'acme', { roles: ['Viewer'] }),
        unused: await makeKey(app, 'acme'),
        revoked: await makeKey(app, 'acme'),
      };
      assert.equal((await ask(app, KEYS, 'acme', made.used.key)).code, '200');
      assert.equal((await ask(app, KEYS, 'acme', made.refused.key)).code, '403 FORBIDDEN');
      const asAdmin = { key: ADMIN_KEY, tenant: 'acme' };
      await askOf(app, 'DELETE', `/api/v1${KEYS}/${made.revoked.keyId}`, asAdmin);
      assert.equal((await ask(app, KEYS, 'acme', made.revoked.key)).code, '401 API_KEY_REVOKED');
      return made;
    })();
    await using app = await start(settings);
    const lastUse = async ({ keyId }: ApiKey) =>
      (await ask<ApiKey>(app, `${KEYS}/${keyId}`, 'acme')).body.lastUsedAt;
    for (const key of [keys.used, keys.refused])
      assert.ok(Date.parse((await lastUse(key))!) >= Date.parse(key.createdAt));
    assert.deepEqual([await lastUse(keys.unused), await lastUse(keys.revoked)], [undefined, undefined]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
