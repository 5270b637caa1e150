// Acknowledged events are kept, even if the settings of the database change after the service has checked them.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client } from 'pg';
import { EVENT } from '../testing/bound-operations.ts';
import { believeClearance, eventCaller } from '../testing/event-caller.ts';
import { startPostgres } from '../testing/postgres-server.ts';
import { startTestApp } from '../testing/test-app.ts';

/** However slow the machine is. */
const PATIENCE_MS = 120_000;

test('an event of after synchronous_commit was set off is there after a power cut', async () => {
  // A commit that nobody waits for is written late.
  await using server = await startPostgres({ wal_writer_delay: '10s' });
  const url = await server.createDatabase();
  const settings = { Storage__Url: url, Log__CheckpointInterval: 'PT1H' };
  await using app = await startTestApp(settings, { authenticate: believeClearance });
  const caller = eventCaller(app);
  await caller.ingest(EVENT);

  const admin = new Client({ connectionString: server.url() });
  await admin.connect();
  const name = new URL(url).pathname.slice(1);
  await admin.query(`ALTER DATABASE ${name} SET synchronous_commit = off`);
  await admin.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1', [name]);
  await admin.end();

  const deadline = Date.now() + PATIENCE_MS;
  let sent = await caller.ingest(EVENT);
  while (sent.status !== 201 && Date.now() < deadline) sent = await caller.ingest(EVENT);
  assert.equal(sent.status, 201);
  await server.kill();
  await server.start();
  let read = await caller.get(sent.body.eventId);
  while (read.status >= 500 && Date.now() < deadline) read = await caller.get(sent.body.eventId);
  assert.equal(read.code, '200');
});
