// A connection that the database ends while it reads: every operation tells its caller to come again.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Client } from 'pg';
import { EVENT } from '../testing/bound-operations.ts';
import { believeClearance, eventCaller } from '../testing/event-caller.ts';
import { finderOf } from '../testing/found-events.ts';
import { type Databases, openDatabases } from '../testing/postgres-server.ts';
import { startTestApp, type TestApp } from '../testing/test-app.ts';

const headers = { 'X-API-Key': 'Secret', 'X-Tenant-Id': 'acme' };
/** Who a caller is, and its tenant, can be read all the time. */
const LOCK = `LOCK TABLE tallystick.entries, tallystick.heads, tallystick.streams, tallystick.index_manifests, tallystick.jobs,
  tallystick.checkpoints, tallystick.tile_hashes IN ACCESS EXCLUSIVE MODE`;
const END_WAITING = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE datname = current_database() AND wait_event_type = 'Lock' AND pid <> $1`;

let server: Databases;
let app: TestApp;
let url: string;
let eventId: string;
before(async () => {
  server = await openDatabases();
  url = await server.createDatabase();
  app = await startTestApp(
    { Storage__Url: url, Log__CheckpointInterval: 'PT0.05S' },
    { authenticate: believeClearance },
  );
  eventId = (await eventCaller(app).ingest(EVENT)).body.eventId;
  await finderOf(app).caughtUp();
});
after(async () => {
  await app?.[Symbol.asyncDispose]();
  await server?.[Symbol.asyncDispose]();
});

async function statusOfEnded(method: string, path: string): Promise<number> {
  const holder = new Client({ connectionString: url });
  const ender = new Client({ connectionString: url });
  await Promise.all([holder.connect(), ender.connect()]);
  const { rows } = await holder.query<Record<string, number>>('SELECT pg_backend_pid() AS pid');
  // Begun before: who has read one of the tables may wait for another, crosswise with the holder.
  const ending = setInterval(() => void ender.query(END_WAITING, [rows[0]!['pid']]).catch(() => {}), 50);
  try {
    await holder.query(`BEGIN; ${LOCK}`);
    const asked = await fetch(`${app.url}/api/v1${path}`, { method, headers });
    await asked.text();
    if (asked.status === 503) assert.ok(Number(asked.headers.get('retry-after')) >= 1);
    return asked.status;
  } finally {
    clearInterval(ending);
    await holder.query('ROLLBACK');
    await Promise.all([holder.end(), ender.end()]);
  }
}

const ASKED: readonly (readonly [method: string, path: () => string])[] = [
  ['GET', () => '/audit-events'],
  ['GET', () => '/audit-events?q=delete'],
  ['GET', () => `/audit-events/${eventId}`],
  ['GET', () => `/audit-events/${eventId}/proof`],
  ['GET', () => '/event-streams'],
  ['GET', () => `/event-streams/${eventId}`],
  ['GET', () => `/event-streams/${eventId}/events`],
  ['GET', () => '/log/t/acme/checkpoint'],
  ['GET', () => '/log/t/acme/tile/0/000.p/1'],
  ['GET', () => '/admin/dead-letter-queue'],
  ['GET', () => `/admin/operations/${eventId}`],
  ['POST', () => '/admin/projections/rebuild'],
  ['POST', () => `/admin/dead-letter-queue/${eventId}/reprocess`],
  ['GET', () => '/admin/metrics'],
  ['GET', () => '/status'],
];
for (const [method, path] of ASKED)
  test(`${method} ${path().replace('undefined', '{id}')}, broken off in the middle, is 503`, async () => {
    assert.equal(await statusOfEnded(method, path()), 503);
  });
