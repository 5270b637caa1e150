// Two nodes on one database: a hold that is placed or released on one counts on the other within a second.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { AuditEvent, LegalHold } from '@tallystick/contract';
import { WITH_PLATFORM_KEY } from '../testing/admin-caller.ts';
import { policedTenant } from '../testing/policed-tenant.ts';
import { type Databases, openDatabases } from '../testing/postgres-server.ts';
import { startTestApp } from '../testing/test-app.ts';
import { until } from '../testing/until.ts';

let server: Databases;
let folder: string;
before(async () => {
  server = await openDatabases();
  folder = mkdtempSync(join(tmpdir(), 'tallystick-holds-'));
});
after(async () => {
  await server?.[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

test('a hold of one node counts on the other, is counted and listed there, and outlives the node', async () => {
  const settings = {
    Environment: 'Test',
    Storage__Url: await server.createDatabase(),
    Storage__DataDirectory: join(folder, 'data'),
    ...WITH_PLATFORM_KEY,
  };
  await using b = await startTestApp({ ...settings, Node__Name: 'b' });
  const there = policedTenant(b, 'acme');
  let holdId: string;
  const [event] = await there.send({ action: 'Delete.Order' });
  const isHeld = async () =>
    (await there.ask<AuditEvent>('GET', `/audit-events/${event}`)).retention?.legalHold === true;
  assert.equal(await isHeld(), false);
  {
    await using a = await startTestApp({ ...settings, Node__Name: 'a' });
    const here = policedTenant(a, 'acme');
    const body = { name: 'Case 7', reason: 'r', conditions: { action: 'Delete.Order' } };
    ({ holdId } = await here.ask<LegalHold>('POST', '/legal-holds', body));
    await until(isHeld);
  }
  assert.equal((await there.ask<LegalHold>('GET', `/legal-holds/${holdId}`)).heldEvents, 1);
  await using c = await startTestApp({ ...settings, Node__Name: 'c' });
  const elsewhere = policedTenant(c, 'acme');
  const released = await elsewhere.ask<LegalHold>('POST', `/legal-holds/${holdId}/release`, {
    reason: 'over',
  });
  await until(async () => !(await isHeld()));
  assert.deepEqual(await there.ask<LegalHold>('GET', `/legal-holds/${holdId}`), released);
});
