// The space of purged content comes back to the file system while the service runs, and nothing of it is left in its files.

import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { List } from '@tallystick/contract';
import { PLATFORM_KEY } from '../testing/admin-caller.ts';
import { policedTenant } from '../testing/policed-tenant.ts';
import { startTestApp, type TestApp } from '../testing/test-app.ts';
import { until } from '../testing/until.ts';

const SHORT = { conditions: {}, effect: { retentionPeriod: 'PT1S' } };
const CANARY = 'quetzalcoatlus';

const journalBytes = ({ dataDirectory }: TestApp) => statSync(join(dataDirectory, 'journal.db')).size;

function filesWithCanary({ dataDirectory }: TestApp): string[] {
  return readdirSync(dataDirectory, { withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => name)
    .filter((name) => readFileSync(join(dataDirectory, name)).includes(CANARY));
}

test('the journal is smaller once its content is purged, and no file has a word of it', async () => {
  const settings = { Retention__SweepInterval: 'PT1S', Log__CheckpointInterval: 'PT0.1S' };
  await using app = await startTestApp({ TALLYSTICK_ADMIN_KEY: PLATFORM_KEY, ...settings });
  const tenant = policedTenant(app, 'acme');
  // What is kept lies between what is not.
  await tenant.send({ action: 'Sign.Contract' });
  await tenant.put('Retention', [SHORT]);
  let largest = 0;
  for (let i = 0; i < 24; i++) {
    const payload = { note: `${CANARY} ${'x'.repeat(10_000)}` };
    await tenant.send(...Array.from({ length: 100 }, () => ({ payload })));
    largest = Math.max(largest, journalBytes(app));
  }
  assert.ok(filesWithCanary(app).length > 0, 'control: it was there');
  await until(async () => {
    const { pagination } = await tenant.ask<List<unknown>>('GET', '/audit-events');
    return pagination.total === 1 && journalBytes(app) < 8_000_000;
  });
  assert.ok(largest > 2 * journalBytes(app), `${largest} bytes at most, ${journalBytes(app)} now`);
  await until(() => filesWithCanary(app).length === 0);
});
