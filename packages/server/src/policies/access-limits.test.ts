// Access policies decide what a reader sees, on every way to an event; of Classification policies the fields do that they
// hide.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, test } from 'node:test';
import type { AuditEvent, List, SearchAnswer } from '@tallystick/contract';
import { PLATFORM_KEY, WITH_PLATFORM_KEY } from '../testing/admin-caller.ts';
import { EVENT } from '../testing/bound-operations.ts';
import { startTestApp, type TestApp } from '../testing/test-app.ts';
import { until } from '../testing/until.ts';

let app: TestApp;
before(async () => {
  app = await startTestApp(WITH_PLATFORM_KEY);
});
after(() => app[Symbol.asyncDispose]());

interface Told<T> {
  readonly code: string;
  readonly body: T;
}

async function ask<T>(
  method: string,
  path: string,
  { key = PLATFORM_KEY, tenant, body }: { key?: string; tenant: string; body?: object },
): Promise<Told<T>> {
  const response = await fetch(`${app.url}/api/v1${path}`, {
    method,
    headers: { 'X-API-Key': key, 'X-Tenant-Id': tenant, 'Content-Type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  });
  const answer = (await response.json()) as T & { error?: { code: string } };
  return { code: `${response.status} ${answer.error?.code ?? ''}`.trim(), body: answer };
}

async function keyFor(tenant: string, role: string): Promise<string> {
  const { body } = await ask<{ key: string }>('POST', '/admin/api-keys', {
    tenant,
    body: { name: `${role} ${Math.random()}`, tenantId: tenant, roles: [role] },
  });
  return body.key;
}

async function put(
  tenant: string,
  rules: readonly object[],
  policyType: 'Access' | 'Classification' | 'Retention' = 'Access',
): Promise<void> {
  const body = { name: policyType, policyType, rules };
  assert.equal((await ask('POST', '/policies', { tenant, body })).code, '201');
}

async function send(tenant: string, event: object): Promise<string> {
  const { body } = await ask<{ eventId: string }>('POST', '/audit-events', {
    tenant,
    body: { ...EVENT, ...event },
  });
  return body.eventId;
}

/** What a reader gets on each way. */
async function seenBy(key: string, tenant: string, eventId: string) {
  const got = await ask<AuditEvent>('GET', `/audit-events/${eventId}`, { key, tenant });
  const listed = await ask<List<AuditEvent>>('GET', '/audit-events', { key, tenant });
  const found = await ask<SearchAnswer>('POST', '/audit-events/search', {
    key,
    tenant,
    body: { aggregations: ['byAction', 'byActor'] },
  });
  return { got, listed: listed.body.data, found: found.body };
}

test('a policy that somebody has switched off in the database is not taken for one that its author has', async () => {
  const tenant = 'switched-off';
  const viewer = await keyFor(tenant, 'Viewer');
  const eventId = await send(tenant, { action: 'Fire.Person' });
  await put(tenant, [
    { conditions: { action: 'Fire.Person' }, effect: { access: 'Deny', roles: ['Viewer'] } },
  ]);
  const path = `/audit-events/${eventId}`;
  assert.equal((await ask('GET', path, { key: viewer, tenant })).code, '404 EVENT_NOT_FOUND');
  const journal = new DatabaseSync(join(app.dataDirectory, 'journal.db'));
  journal.exec(
    `UPDATE records SET state = 'Deleted' WHERE kind = 'Policy' AND tenant = (SELECT tenant FROM tenants
      WHERE tenant_id = '${tenant}'); UPDATE meta SET value = 'another' WHERE name = 'records_version'`,
  );
  journal.close();
  await until(async () => (await ask('GET', path, { key: viewer, tenant })).code === '403 TENANT_SUSPENDED');
});

test('each role counts with its own clearance, and a stated one below them is a limit', async () => {
  const tenant = 'roles';
  const keyWith = async (more: object) =>
    (
      await ask<{ key: string }>('POST', '/admin/api-keys', {
        tenant,
        body: { name: `k ${Math.random()}`, tenantId: tenant, ...more },
      })
    ).body.key;
  const both = await keyWith({ roles: ['Viewer', 'Auditor'] });
  const limited = await keyWith({ roles: ['Viewer'], clearance: 'Public' });
  const stated = await keyWith({ roles: ['Viewer'], clearance: 'Secret' });
  const invoice = { resource: { resourceType: 'Invoice', resourceId: '1' }, payload: { note: 'pangolin' } };
  const confidential = await send(tenant, { ...invoice, classification: 'Confidential' });
  const internal = await send(tenant, { ...invoice, classification: 'Internal' });
  const order = await send(tenant, {
    ...invoice,
    resource: { resourceType: 'Order', resourceId: '1' },
    classification: 'Confidential',
  });
  const conditions = { 'resource.resourceType': 'Invoice' };
  await put(tenant, [
    { conditions, effect: { access: 'Allow', roles: ['Auditor'], maxClassification: 'Internal' } },
    { conditions, effect: { access: 'Allow', roles: ['Viewer'], maxClassification: 'Internal' } },
  ]);
  const sees = async (key: string, eventId: string) =>
    'note' in (await seenBy(key, tenant, eventId)).got.body.payload!;
  assert.deepEqual([await sees(both, confidential), await sees(both, internal)], [false, true]);
  assert.equal(await sees(both, order), true, 'as an Auditor');
  assert.deepEqual([await sees(limited, internal), await sees(limited, order)], [false, false]);
  assert.deepEqual([await sees(stated, confidential), await sees(stated, order)], [false, true]);
});

test('a role that no rule is about does not undo what a rule says of another', async () => {
  const tenant = 'one-role';
  const { body } = await ask<{ key: string }>('POST', '/admin/api-keys', {
    tenant,
    body: { name: 'both', tenantId: tenant, roles: ['Viewer', 'Auditor'] },
  });
  const eventId = await send(tenant, { classification: 'Confidential', payload: { note: 'pangolin' } });
  await put(tenant, [{ effect: { access: 'Allow', roles: ['Auditor'], maxClassification: 'Internal' } }]);
  assert.deepEqual((await seenBy(body.key, tenant, eventId)).got.body.payload, {});
});

test('very many fields are withheld in one go', async () => {
  const tenant = 'many-fields';
  const viewer = await keyFor(tenant, 'Viewer');
  const keys = Array.from({ length: 4000 }, (_, i) => `k${i}`);
  const eventId = await send(tenant, { payload: Object.fromEntries(keys.map((key) => [key, 1])) });
  const fields = (from: number) => keys.slice(from, from + 100).map((key) => `payload.${key}`);
  await put(
    tenant,
    [0, 100, 200, 300, 400].map((from) => ({
      effect: { access: 'Allow', roles: ['Viewer'], redactFields: fields(from) },
    })),
  );
  const beganAt = performance.now();
  const { body } = await ask<AuditEvent>('GET', `/audit-events/${eventId}`, { key: viewer, tenant });
  assert.equal(Object.values(body.payload!).filter((value) => value === '[REDACTED]').length, 500);
  assert.ok(performance.now() - beganAt < 3000, `${performance.now() - beganAt} ms`);
});
