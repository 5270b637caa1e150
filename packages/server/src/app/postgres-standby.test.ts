// With a synchronous standby, what is acknowledged is on it: whoever is not told so by the database tells nobody. A database
// that is a standby itself, because an address leads there before it is promoted, is asked again later.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client } from 'pg';
import { EVENT } from '../testing/bound-operations.ts';
import { believeClearance, eventCaller } from '../testing/event-caller.ts';
import { promote, startPostgresPair } from '../testing/postgres-standby.ts';
import { Relay } from '../testing/relay.ts';
import { startTestApp } from '../testing/test-app.ts';

const KEY = 'the-platform-key-of-the-test-of-standbys';
/** The commit is done then, here; and the database says so, with a warning. */
const CALL_OFF = `SELECT pg_cancel_backend(pid) FROM pg_stat_activity
  WHERE wait_event = 'SyncRep' AND datname = current_database()`;

test('a commit whose wait for the standby is called off is not acknowledged, nor is its repetition', async () => {
  await using pair = await startPostgresPair({ isSynchronous: true });
  const settings = { Storage__Url: pair.url, Log__CheckpointInterval: 'PT1H' };
  await using app = await startTestApp(settings, { authenticate: believeClearance });
  const caller = eventCaller(app);
  const event = { ...EVENT, eventId: '01KC0000000000000000000000' };
  assert.equal((await caller.ingest(EVENT)).status, 201);
  const client = new Client({ connectionString: pair.url });
  client.on('error', () => {});
  await client.connect();
  await pair.standby.freeze();
  const callingOff: Promise<number>[] = [];
  for (let attempt = 0; attempt < 2; attempt++) {
    const calling = setInterval(() => {
      callingOff.push(client.query(CALL_OFF).then(({ rows }) => rows.length));
    }, 20);
    const { status } = await caller.ingest(event).finally(() => clearInterval(calling));
    assert.equal(status, 503);
  }
  const calledOff = (await Promise.all(callingOff)).reduce((sum, count) => sum + count, 0);
  assert.ok(calledOff >= 2, `${calledOff}`);
  await client.end();
  await pair.standby.thaw();
  while ((await caller.ingest(event)).status === 503);
  assert.equal((await caller.get(event.eventId)).code, '200');
});

/** What changes something without going through the log. */
const CHANGES: readonly (readonly [path: string, body: object])[] = [
  ['/api/v1/admin/api-keys', { name: 'x', roles: ['Viewer'] }],
  ['/api/v1/admin/projections/rebuild', {}],
  ['/api/v1/audit-events', EVENT],
];

test('a standby that is not promoted yet is 503 for whoever wants to change something, and not ready', async () => {
  await using pair = await startPostgresPair({ isSynchronous: true });
  await using address = await Relay.open(pair.primary.port);
  const url = new URL(pair.url);
  url.port = String(address.port);
  await using app = await startTestApp({ Storage__Url: url.href, TALLYSTICK_ADMIN_KEY: KEY });
  const headers = { 'X-API-Key': KEY, 'X-Tenant-Id': 'acme', 'Content-Type': 'application/json' };
  const ask = (path: string, body: object) =>
    fetch(`${app.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
  assert.equal((await ask('/api/v1/audit-events', EVENT)).status, 201);
  address.leadTo(pair.standby.port);
  for (const [path, body] of CHANGES) {
    const { status, headers: told } = await ask(path, body);
    assert.deepEqual([path, status], [path, 503]);
    assert.match(String(told.get('retry-after')), /^[1-9]\d*$/);
  }
  assert.equal((await fetch(`${app.url}/health/ready`)).status, 503);
  await pair.primary.kill();
  await promote(pair.standby);
  while ((await fetch(`${app.url}/health/ready`)).status !== 200);
  for (const [path, body] of CHANGES) assert.ok((await ask(path, body)).status < 300, path);
});
