// Access policies decide what a reader sees, on every way to an event, and so do the fields that
// Classification policies withhold.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, test } from 'node:test';
import type { AuditEvent } from '@tallystick/contract';
import { WITH_PLATFORM_KEY } from '../testing/admin-caller.ts';
import { AccessReaders } from './testing/access-readers.ts';
import { startTestApp, type TestApp } from '../testing/test-app.ts';
import { until } from '../testing/until.ts';

let app: TestApp;
before(async () => {
  app = await startTestApp(WITH_PLATFORM_KEY);
});
after(() => app[Symbol.asyncDispose]());

const { ask, keyFor, keyWith, put, send, seenBy } = new AccessReaders(() => app);

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
  const both = await keyWith(tenant, { roles: ['Viewer', 'Auditor'] });
  const limited = await keyWith(tenant, { roles: ['Viewer'], clearance: 'Public' });
  const stated = await keyWith(tenant, { roles: ['Viewer'], clearance: 'Secret' });
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
  const both = await keyWith(tenant, { roles: ['Viewer', 'Auditor'] });
  const eventId = await send(tenant, { classification: 'Confidential', payload: { note: 'pangolin' } });
  await put(tenant, [{ effect: { access: 'Allow', roles: ['Auditor'], maxClassification: 'Internal' } }]);
  assert.deepEqual((await seenBy(both, tenant, eventId)).got.body.payload, {});
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
