// Values that thresholds have counted by, where content is encrypted: no store has them in the clear, and readers see them as ever.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Classification, List, PolicyViolation } from '@tallystick/contract';
import { PLATFORM_KEY } from '../testing/admin-caller.ts';
import { policedTenant } from '../testing/policed-tenant.ts';
import { filesWith } from '../testing/redacting.ts';
import { startTestApp } from '../testing/test-app.ts';
import { until } from '../testing/until.ts';

const THRESHOLD = { count: 1, window: 'P1D', groupBy: 'payload.note' };

/** Of an event of each classification, counted by a word of its own. */
async function counted(sealed: string) {
  const settings = { TALLYSTICK_ADMIN_KEY: PLATFORM_KEY, Encryption__Classifications: sealed };
  const app = await startTestApp(settings);
  const tenant = policedTenant(app, 'acme');
  await tenant.put('Alert', [{ conditions: {}, effect: { violationType: 'Counted', threshold: THRESHOLD } }]);
  const words: Record<string, string> = {
    Internal: 'aardvark',
    Confidential: 'bandicoot',
    Secret: 'cassowary',
  };
  for (const [classification, note] of Object.entries(words))
    await tenant.send({ classification, payload: { note } });
  const violations = async () => (await tenant.ask<List<PolicyViolation>>('GET', '/violations')).data;
  await until(async () => (await violations()).length === 3);
  const inTheClear = Object.entries(words)
    .filter(([, word]) => filesWith(app.dataDirectory, word).some((name) => name.startsWith('work.db')))
    .map(([classification]) => classification as Classification);
  return { app, tenant, words, violations: await violations(), inTheClear };
}

test('a value from content that is encrypted is in no file, and every reader gets it', async () => {
  const { app, tenant, words, violations, inTheClear } = await counted('Confidential,Secret');
  await using _ = app;
  assert.deepEqual(inTheClear, ['Internal']);
  assert.deepEqual(new Set(violations.map(({ groupKey }) => groupKey)), new Set(Object.values(words)));
  for (const { violationId, groupKey } of violations) {
    const path = `/violations/${violationId}`;
    assert.equal((await tenant.ask<PolicyViolation>('GET', path)).groupKey, groupKey);
    const noted = await tenant.ask<PolicyViolation>('POST', `${path}/acknowledge`, { comment: 'seen' });
    assert.deepEqual([noted.groupKey, 'isSealed' in noted], [groupKey, false]);
  }
});

test('control: where nothing is encrypted, all of them are in the clear', async () => {
  const { app, inTheClear } = await counted('None');
  await using _ = app;
  assert.deepEqual(inTheClear, ['Internal', 'Confidential', 'Secret']);
});
