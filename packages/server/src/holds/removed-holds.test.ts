// Somebody who can write to the database takes the row of a hold away, or puts an older version of what holds in its place, lets
// the service remove what has expired, and puts the row back: nothing that was held is gone. Through the whole service, on both
// backends.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { HealthReport, LegalHold, Policy } from '@tallystick/contract';
import { PLATFORM_KEY, WITH_PLATFORM_KEY } from '../testing/admin-caller.ts';
import { ask as askOf } from '../testing/ask.ts';
import { type PolicedTenant, policedTenant } from '../testing/policed-tenant.ts';
import { raw } from '../testing/postgres-nodes.ts';
import { type Databases, openDatabases } from '../testing/postgres-server.ts';
import { openRunningJournal } from '../testing/running-journal.ts';
import { startTestApp, type TestApp } from '../testing/test-app.ts';
import { until } from '../testing/until.ts';

const SHORT = { conditions: {}, effect: { retentionPeriod: 'PT1S' } };
const KEEP = { conditions: {}, effect: { retentionPeriod: 'PT1S', legalHold: true } };
const SETTINGS = {
  ...WITH_PLATFORM_KEY,
  Environment: 'Test',
  Retention__SweepInterval: 'PT1S',
  Log__CheckpointInterval: 'PT0.1S',
};

let server: Databases;
let folder: string;
before(async () => {
  server = await openDatabases();
  folder = mkdtempSync(join(tmpdir(), 'tallystick-removed-holds-'));
});
after(async () => {
  await server?.[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

/** Runs statements in the database of a running service, and has the service read its records again. */
type Alter = (...statements: string[]) => Promise<void>;

const BACKENDS: Record<string, () => Promise<{ app: TestApp; alter: Alter }>> = {
  'the embedded store': async () => {
    const app = await startTestApp(SETTINGS);
    const alter: Alter = async (...statements) => {
      using db = openRunningJournal(app.dataDirectory);
      for (const sql of statements) db.exec(sql);
      db.exec("UPDATE meta SET value = hex(randomblob(8)) WHERE name = 'records_version'");
    };
    return { app, alter };
  },
  PostgreSQL: async () => {
    const url = await server.createDatabase();
    const app = await startTestApp({
      ...SETTINGS,
      Storage__Url: url,
      Storage__DataDirectory: join(folder, 'data'),
    });
    const alter: Alter = async (...statements) => {
      for (const sql of statements) await raw(url, sql);
      await raw(url, "UPDATE meta SET value = gen_random_uuid()::text WHERE name = 'records_version'");
    };
    return { app, alter };
  },
};

// Both wait for sweeps.
describe('what is held', { concurrency: true }, () => {
  // One at a time: each looks at the health of the service.
  for (const [backend, open] of Object.entries(BACKENDS))
    describe(`on ${backend}`, { concurrency: false }, () => {
      let app: TestApp;
      let alter: Alter;
      before(async () => {
        ({ app, alter } = await open());
      });
      after(() => app?.[Symbol.asyncDispose]());

      const codeOf = async (tenant: string, eventId: string) =>
        (await askOf(app, 'GET', `/api/v1/audit-events/${eventId}`, { key: PLATFORM_KEY, tenant })).code;
      const healthOfStorage = async () =>
        (await askOf<HealthReport>(app, 'GET', '/api/v1/health', {})).body.entries['storage']?.status;
      const isPurged = async (tenant: PolicedTenant, eventId: string) =>
        'purgedAt' in (await tenant.ask<object>('GET', `/audit-events/${eventId}`));
      let controls = 0;
      /** Of a tenant in which nothing is held: when its event is gone, what had expired before was looked at. */
      const sweepsHaveCome = async () => {
        const control = policedTenant(app, `control-${++controls}`);
        await control.put('Retention', [SHORT]);
        const [event] = await control.send({});
        await until(() => isPurged(control, event!));
      };
      /** Takes rows away, or exchanges them, for some sweeps, and says whether the event is still there afterwards. */
      const outlives = async (
        tenant: PolicedTenant,
        name: string,
        eventId: string,
        { away, back }: { readonly away: readonly string[]; readonly back: readonly string[] },
      ) => {
        await sweepsHaveCome();
        assert.equal(await isPurged(tenant, eventId), false, 'it is held');
        await alter(...away);
        await until(async () => (await codeOf(name, eventId)) === '403 TENANT_SUSPENDED');
        assert.equal(await healthOfStorage(), 'Degraded');
        await sweepsHaveCome();
        await alter(...back);
        await until(async () => (await codeOf(name, eventId)) !== '403 TENANT_SUSPENDED');
        assert.equal(await healthOfStorage(), 'Healthy');
        return !(await isPurged(tenant, eventId));
      };
      const copied = (id: string, number: number) =>
        `CREATE TABLE kept_${number} AS SELECT * FROM records WHERE id = '${id}'`;
      const putBack = (number: number) => `INSERT INTO records SELECT * FROM kept_${number}`;

      test('the row of its only hold', async () => {
        const tenant = policedTenant(app, 'only');
        await tenant.put('Retention', [SHORT]);
        const { holdId } = await tenant.ask<LegalHold>('POST', '/legal-holds', {
          name: 'Case 7',
          reason: 'r',
        });
        const [event] = await tenant.send({});
        await alter(copied(holdId, 1));
        const away = [`DELETE FROM records WHERE id = '${holdId}'`];
        assert.ok(await outlives(tenant, 'only', event!, { away, back: [putBack(1)] }));
        const said = app.lines.map((line) => JSON.stringify(line));
        assert.ok(said.some((line) => line.includes(`LegalHold ${holdId} of only`)));
        assert.equal(said.filter((line) => line.includes('of control-')).length, 0);
      });

      test('the row of one of two holds, with that of the newest', async () => {
        const tenant = policedTenant(app, 'both');
        await tenant.put('Retention', [SHORT]);
        const place = async (body: object) =>
          (await tenant.ask<LegalHold>('POST', '/legal-holds', { reason: 'r', ...body })).holdId;
        const first = await place({ name: 'Case 7' });
        const last = await place({ name: 'Case 8', range: { fromSequence: 1000, toSequence: 2000 } });
        const [event] = await tenant.send({});
        await alter(copied(first, 2), copied(last, 3));
        const away = [`DELETE FROM records WHERE id IN ('${first}', '${last}')`];
        assert.ok(await outlives(tenant, 'both', event!, { away, back: [putBack(2), putBack(3)] }));
      });

      test('a policy whose rule holds, put back to the version before it did', async () => {
        const tenant = policedTenant(app, 'policed');
        const { policyId } = await tenant.put('Retention', [SHORT], 'Keep');
        const body = { name: 'Keep', policyType: 'Retention', rules: [KEEP] };
        await tenant.ask<Policy>('PUT', `/policies/${policyId}`, body);
        const [event] = await tenant.send({});
        const isIt = `WHERE id = '${policyId}'`;
        await alter(copied(policyId, 4));
        const away = [
          `DELETE FROM records ${isIt}`,
          `INSERT INTO records SELECT * FROM past_records ${isIt}`,
        ];
        const back = [`DELETE FROM records ${isIt}`, putBack(4)];
        assert.ok(await outlives(tenant, 'policed', event!, { away, back }));
      });
    });
});
