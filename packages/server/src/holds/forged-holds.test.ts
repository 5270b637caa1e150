// Somebody who can write to the database, and to nothing else, changes holds there: the service notices when it reads them.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { AuditEvent, LegalHold } from '@tallystick/contract';
import { PLATFORM_KEY, WITH_PLATFORM_KEY } from '../testing/admin-caller.ts';
import { ask as askOf } from '../testing/ask.ts';
import { policedTenant } from '../testing/policed-tenant.ts';
import { openRunningJournal } from '../testing/running-journal.ts';
import { startTestApp, type TestApp } from '../testing/test-app.ts';
import { until } from '../testing/until.ts';

let app: TestApp;
before(async () => {
  app = await startTestApp(WITH_PLATFORM_KEY);
});
after(() => app[Symbol.asyncDispose]());

function alter(sql: string, ...values: string[]): void {
  using db = openRunningJournal(app.dataDirectory);
  assert.equal(db.prepare(sql).run(...values).changes, 1);
  // As a change of the service does.
  db.exec("UPDATE meta SET value = hex(randomblob(8)) WHERE name = 'records_version'");
}

const OTHERS = "(SELECT tenant FROM tenants WHERE tenant_id = 'others')";
const CHANGES: Readonly<Record<string, string>> = {
  'its state': "UPDATE records SET state = 'Released' WHERE id = ?",
  'its body': `UPDATE records SET body = replace(body, '"Active"', '"Released"') WHERE id = ?`,
  'its conditions': "UPDATE records SET body = replace(body, 'Delete', 'Drop') WHERE id = ?",
  'its version': 'UPDATE records SET version = 9 WHERE id = ?',
  'its version, to one that no reader takes': 'UPDATE records SET version = 9007199254740993 WHERE id = ?',
  'its MAC': 'UPDATE records SET mac = zeroblob(34) WHERE id = ?',
};

for (const [what, sql] of Object.entries(CHANGES))
  test(`a hold of which somebody has changed ${what} does not count as released: the tenant is not served`, async () => {
    const tenant = `t-${Object.keys(CHANGES).indexOf(what)}`;
    const policed = policedTenant(app, tenant);
    const [event] = await policed.send({});
    const body = { name: 'Case 7', reason: 'r', conditions: { action: { startsWith: 'Delete' } } };
    const { holdId } = await policed.ask<LegalHold>('POST', '/legal-holds', body);
    alter(sql, holdId);
    const get = () => askOf(app, 'GET', `/api/v1/audit-events/${event}`, { key: PLATFORM_KEY, tenant });
    await until(async () => (await get()).code === '403 TENANT_SUSPENDED');
    assert.ok(app.lines.some((line) => JSON.stringify(line).includes(`LegalHold ${holdId} of ${tenant}`)));
  });

test('a hold that somebody has copied to another tenant holds nothing there: that tenant is not served', async () => {
  const policed = policedTenant(app, 'from');
  const others = policedTenant(app, 'others');
  const [event] = await others.send({});
  await others.ask('POST', '/legal-holds', {
    name: 'Own',
    reason: 'r',
    conditions: { action: 'Drop.Invoice' },
  });
  const { holdId } = await policed.ask<LegalHold>('POST', '/legal-holds', { name: 'Case 7', reason: 'r' });
  const before = await others.ask<AuditEvent>('GET', `/audit-events/${event}`);
  assert.equal(before.retention?.legalHold, false);
  alter(
    `INSERT INTO records (tenant, kind, id, version, body, state, unique_name, lookup, salt, mac)
     SELECT ${OTHERS}, kind, id, version, body, state, unique_name, lookup, salt, mac FROM records WHERE id = ?`,
    holdId,
  );
  const get = () =>
    askOf(app, 'GET', `/api/v1/audit-events/${event}`, { key: PLATFORM_KEY, tenant: 'others' });
  await until(async () => (await get()).code === '403 TENANT_SUSPENDED');
});
