// Keys that belong to networks, over real HTTP.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ask } from '../testing/ask.ts';
import { PLATFORM_KEY, WITH_PLATFORM_KEY } from '../testing/admin-caller.ts';
import { startTestApp, type TestApp } from '../testing/test-app.ts';

const KEYS = '/api/v1/admin/api-keys';

const make = (app: TestApp, allowedNetworks: readonly unknown[]) =>
  ask<Record<string, unknown>>(app, 'POST', KEYS, {
    key: PLATFORM_KEY,
    tenant: 'acme',
    body: { name: 'office', roles: ['Viewer'], allowedNetworks },
  });

const readFrom = async (app: TestApp, key: unknown, forwarded?: string) => {
  const headers = forwarded === undefined ? {} : { 'X-Forwarded-For': forwarded };
  return (await ask(app, 'GET', '/api/v1/audit-events', { key: String(key), tenant: 'acme', headers })).code;
};

test('a key works from its networks alone, through a rotation and a trusted proxy', async () => {
  await using app = await startTestApp(WITH_PLATFORM_KEY);
  const { body } = await make(app, ['203.0.113.0/24']);
  assert.deepEqual(body['allowedNetworks'], ['203.0.113.0/24']);
  const rotated = await ask<Record<string, unknown>>(app, 'POST', `${KEYS}/${String(body['keyId'])}/rotate`, {
    key: PLATFORM_KEY,
    tenant: 'acme',
    body: {},
  });
  assert.deepEqual(rotated.body['allowedNetworks'], ['203.0.113.0/24']);
  for (const { key } of [body, rotated.body]) {
    assert.equal(await readFrom(app, key), '403 FORBIDDEN', 'loopback');
    // Loopback is a trusted proxy.
    assert.equal(await readFrom(app, key, '203.0.113.9'), '200');
    assert.equal(
      await readFrom(app, key, '203.0.113.9, 198.51.100.7'),
      '403 FORBIDDEN',
      'a claim of its own',
    );
  }
  const listed = await ask<{ data: Record<string, unknown>[] }>(app, 'GET', KEYS, {
    key: PLATFORM_KEY,
    tenant: 'acme',
  });
  for (const each of listed.body.data) assert.deepEqual(each['allowedNetworks'], ['203.0.113.0/24']);
});

test('what is no network is refused by its place', async () => {
  await using app = await startTestApp(WITH_PLATFORM_KEY);
  for (const wrong of [
    '10.0.0.0/33',
    '10.0.0',
    '256.0.0.1',
    '::1/129',
    'localhost',
    '10.0.0.0/8/8',
    '',
    ' 10.0.0.1',
    7,
  ]) {
    const { code, body } = await make(app, ['10.0.0.1', wrong]);
    assert.equal(code, '422 VALIDATION_FAILED', String(wrong));
    assert.match(JSON.stringify(body), /allowedNetworks\[1\]/, String(wrong));
  }
  for (const sound of ['10.0.0.1', '::1', '2001:db8::/32', '0.0.0.0/0', '::ffff:10.0.0.1'])
    assert.equal((await make(app, [sound])).code, '201', sound);
  assert.equal((await make(app, [])).code, '422 VALIDATION_FAILED', 'from nowhere at all');
});
