// Two nodes on one database: a subscription of one is read, changed and opened on the other, with the same keyring.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { List, RotatedSecret, Subscription } from '@tallystick/contract';
import { checkDatabase } from '../check-store.ts';
import { WITH_PLATFORM_KEY } from '../testing/admin-caller.ts';
import { type Databases, openDatabases } from '../testing/postgres-server.ts';
import { storedSubscription, subscribed, subscribing } from '../testing/subscribing.ts';
import { startTestApp } from '../testing/test-app.ts';
import { until } from '../testing/until.ts';

let server: Databases;
let folder: string;
before(async () => {
  server = await openDatabases();
  folder = mkdtempSync(join(tmpdir(), 'tallystick-subscriptions-'));
});
after(async () => {
  await server?.[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

test('a subscription of one node is the same on the other, and both change it without losing a change', async () => {
  const url = await server.createDatabase();
  const settings = {
    Environment: 'Test',
    Storage__Url: url,
    Storage__DataDirectory: join(folder, 'data'),
    Webhooks__AllowPrivateTargets: 'true',
    ...WITH_PLATFORM_KEY,
  };
  let subscriptionId: string;
  let secrets: (string | undefined)[];
  {
    await using a = await startTestApp({ ...settings, Node__Name: 'a' });
    await using b = await startTestApp({ ...settings, Node__Name: 'b' });
    const [here, there] = [subscribing(() => a, 'acme'), subscribing(() => b, 'acme')];
    const made = await subscribed(here, { headers: { Authorization: 'Bearer a' } });
    ({ subscriptionId } = made);
    const path = `/${subscriptionId}`;
    await until(async () => (await there('GET', path)).code === '200');
    const rotated = await there<RotatedSecret>('POST', `${path}/rotate-secret`);
    secrets = [rotated.body.secret, made.secret];
    const changes = await Promise.all(
      [here, there, here, there].map((ask, i) =>
        ask('PATCH', path, { headers: { [`X-${i}`]: 'x', Authorization: '[REDACTED]' } }),
      ),
    );
    for (const { code, text } of changes) assert.equal(code, '200', text);
    const { headers } = (await here('GET', path)).body;
    assert.deepEqual(Object.keys(headers).toSorted(), ['Authorization', 'X-0', 'X-1', 'X-2', 'X-3']);
    const { record, opened } = await storedSubscription(a, 'acme', subscriptionId, { Storage__Url: url });
    assert.deepEqual([opened.secret, opened.previousSecret?.secret], secrets);
    assert.equal(opened.headers['Authorization'], 'Bearer a');
    assert.equal(record.version, 6);
    assert.equal((await here('POST', `${path}/pause`)).code, '200');
    await until(async () => (await there<Subscription>('GET', path)).body.status === 'Paused');
    await subscribed(subscribing(() => b, 'other'));
    assert.equal((await there<List<Subscription>>('GET')).body.pagination.total, 1);
  }
  const { faults } = await checkDatabase(url, {
    directory: join(folder, 'data'),
    setting: 'Storage__Url',
    keys: [],
    seen: [],
  });
  assert.deepEqual(faults, []);
});
