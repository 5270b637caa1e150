// With a synchronous standby, every acknowledged event is on it: without its confirmation the service acknowledges
// nothing. A database that is a standby itself, because an address leads there before it is promoted, is asked again
// later.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client } from 'pg';
import { readAnchorAt } from '../storage/anchor/file-anchor.ts';
import { EVENT } from '../testing/bound-operations.ts';
import { believeClearance, eventCaller } from '../testing/event-caller.ts';
import { promote, startPostgresPair } from '../testing/postgres-standby.ts';
import { Relay } from '../testing/relay.ts';
import { startTestApp } from '../testing/test-app.ts';
import { until } from '../testing/until.ts';

const ENTRIES = 'SELECT 1 FROM tallystick.entries';

async function asked(url: string, sql: string): Promise<unknown[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

const KEY = 'the-platform-key-of-the-test-of-standbys';
/** The commit is done then, here; and the database says so, with a warning. */
const CALL_OFF = `SELECT pg_cancel_backend(pid) FROM pg_stat_activity
  WHERE wait_event = 'SyncRep' AND datname = current_database()`;

for (const level of ['notice', 'error'])
  test(`a commit whose wait for the standby is called off is not acknowledged, nor is its repetition; client_min_messages: ${level}`, async () => {
    await using pair = await startPostgresPair({ isSynchronous: true });
    await asked(pair.url, `ALTER ROLE postgres SET client_min_messages = ${level}`);
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

test('what the standby does not have is not anchored, though the database shows it', async () => {
  await using pair = await startPostgresPair({ isSynchronous: true });
  const settings = { Storage__Url: pair.url, Log__CheckpointInterval: 'PT0.05S' };
  await using app = await startTestApp(settings, { authenticate: believeClearance });
  const caller = eventCaller(app);
  const anchored = async () => {
    const heads = (await readAnchorAt(app.dataDirectory)).heads();
    return Math.max(0, ...Array.from(heads.values(), ({ size }) => size));
  };
  assert.equal((await caller.ingest(EVENT)).status, 201);
  await until(async () => (await anchored()) === 1);
  const client = new Client({ connectionString: pair.url });
  client.on('error', () => {});
  await client.connect();
  await pair.standby.freeze();
  let calledOff = 0;
  const calling = setInterval(() => {
    client.query(CALL_OFF).then(
      ({ rows }) => (calledOff += rows.length),
      () => {},
    );
  }, 20);
  try {
    assert.equal((await caller.ingest(EVENT)).status, 503);
    // The checkpointer has seen it, and is called off, too, again and again.
    await until(() => calledOff > 4);
    assert.equal(await anchored(), 1);
  } finally {
    clearInterval(calling);
    await pair.standby.thaw();
  }
  await until(async () => (await anchored()) === 2);
  await client.end();
});

test('a standby that was behind is promoted: a node that had more of a log appends nothing to it', async () => {
  let link: Relay | undefined;
  const reachedAt = async (port: number) => (link = await Relay.open(port));
  await using pair = await startPostgresPair({ isSynchronous: false, reachedAt });
  await using replication = link!;
  await using address = await Relay.open(pair.primary.port);
  const url = new URL(pair.url);
  url.port = String(address.port);
  // Nothing is signed, so nothing but what was acknowledged tells of it.
  const settings = { Storage__Url: url.href, Log__CheckpointInterval: 'PT1H' };
  await using app = await startTestApp(settings, { authenticate: believeClearance });
  const [lost, whole] = [eventCaller(app, 'lost'), eventCaller(app, 'whole')];
  for (const caller of [lost, whole]) assert.equal((await caller.ingest(EVENT)).status, 201);
  // With the notice of the first key.
  await until(
    async () => (await asked(pair.standby.url(new URL(pair.url).pathname.slice(1)), ENTRIES)).length === 3,
  );
  replication.hold();
  for (let i = 0; i < 3; i++) assert.equal((await lost.ingest(EVENT)).status, 201);
  await pair.primary.kill();
  replication.cut();
  await promote(pair.standby);
  address.leadTo(pair.standby.port);
  await until(async () => (await whole.ingest(EVENT)).status === 201);
  const { status, body } = await lost.ingest(EVENT);
  assert.equal(status, 503);
  assert.match(JSON.stringify(body), /it has 1 entries, and had 4: .*recover --new-epoch/);
});

/** What changes something without going through the log. */
const CHANGES: readonly (readonly [path: string, body: object])[] = [
  ['/api/v1/admin/api-keys', { name: 'x', roles: ['Viewer'] }],
  ['/api/v1/admin/projections/rebuild', {}],
  ['/api/v1/audit-events', EVENT],
];

test('a standby that is not promoted yet is 503 for every change, and not ready', async () => {
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
