// The whole service on PostgreSQL: the same answers, and a database that is away is said so until it is back.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Erasure } from '@tallystick/contract';
import { noteVerifier, parseEventProof, verifyEventProof } from '@tallystick/evidence';
import { Pool } from 'pg';
import { checkDatabase } from '../check-store.ts';
import { systemClock } from '../runtime/clock.ts';
import { createSystemRandom } from '../runtime/random.ts';
import { STREAMS } from '../storage/conformance/claims.ts';
import { openPostgresStorage } from '../storage/postgres/postgres-storage.ts';
import { EVENT } from '../testing/bound-operations.ts';
import { believeClearance, eventCaller } from '../testing/event-caller.ts';
import { finderOf } from '../testing/found-events.ts';
import { type PostgresServer, startPostgres } from '../testing/postgres-server.ts';
import { purgeIn } from '../testing/purge.ts';
import { startTestApp, type TestApp } from '../testing/test-app.ts';

/** However slow the machine is. */
const PATIENCE_MS = 120_000;

let server: PostgresServer;
let url: string;
let app: TestApp;
before(async () => {
  server = await startPostgres();
  url = await server.createDatabase();
  const settings = { Storage__Url: url, Log__CheckpointInterval: 'PT0.05S' };
  app = await startTestApp(settings, { authenticate: believeClearance });
});
after(async () => {
  await app?.[Symbol.asyncDispose]();
  await server?.[Symbol.asyncDispose]();
});

test('an event is stored, read, found and proven', async () => {
  const caller = eventCaller(app);
  const { code, body } = await caller.ingest(EVENT);
  assert.equal(code, '201');
  assert.equal((await caller.get(body.eventId)).code, '200');
  await finderOf(app).caughtUp();
  assert.deepEqual(
    (await finderOf(app).list()).body.data.map(({ eventId }) => eventId),
    [body.eventId],
  );
  const found = await finderOf(app).search({ query: 'action:Delete.*' });
  assert.equal(found.body.results.length, found.body.totalCount);
  const headers = { 'X-API-Key': 'Secret', 'X-Tenant-Id': 'acme' };
  const ask = async (path: string) => await (await fetch(`${app.url}/api/v1${path}`, { headers })).text();
  const proof = await ask(`/audit-events/${body.eventId}/proof`);
  const key = await ask('/log/t/acme/key');
  const verdict = await verifyEventProof(parseEventProof(proof), {
    verifiers: [await noteVerifier(key.trim())],
  });
  assert.ok(verdict.whole);
});

test('of an event that is purged a tombstone is shown, and no list or search finds it', async () => {
  const caller = eventCaller(app, 'purged');
  const ids: string[] = [];
  for (let i = 0; i < 3; i++) ids.push((await caller.ingest(EVENT)).body.eventId);
  assert.equal((await caller.get(`${ids[2]}/proof`)).code, '200');
  const finder = finderOf(app, 'purged');
  await finder.caughtUp();
  await using storage = await openPostgresStorage({
    url,
    logOrigin: undefined,
    streams: STREAMS,
    clock: systemClock,
    random: createSystemRandom(),
  });
  const left = new Set([ids[0], ids[2]]);
  for (const isLeft of [true, false]) {
    await purgeIn(storage, { tenant: 'purged', spans: [{ firstIndex: 1, endIndex: 2 }], isLeft });
    const { code, body } = await caller.get(ids[1]!);
    assert.deepEqual([code, 'purgedAt' in body, 'action' in body], ['200', true, false]);
    assert.equal((await caller.get(`${ids[1]}/proof`)).code, '200');
    assert.deepEqual(new Set((await finder.list()).body.data.map(({ eventId }) => eventId)), left);
    const { results } = (await finder.search({ query: 'action:Delete.*' })).body;
    assert.deepEqual(new Set(results.map(({ eventId }) => eventId)), left);
  }
});

test('a field that is redacted is gone for every reader and from the tables, and the event still proves itself', async () => {
  const caller = eventCaller(app, 'redacted');
  const payload = { iban: 'DE02120300000000202051', amount: 7 };
  const { eventId } = (await caller.ingest({ ...EVENT, payload })).body;
  await caller.ingest(EVENT);
  const finder = finderOf(app, 'redacted');
  await finder.caughtUp();
  const headers = { 'X-API-Key': 'Secret', 'X-Tenant-Id': 'redacted', 'Content-Type': 'application/json' };
  const ask = async (path: string, body?: object) => {
    const init = { headers, ...(body && { method: 'POST', body: JSON.stringify(body) }) };
    return await (await fetch(`${app.url}/api/v1${path}`, init)).text();
  };
  const proof = async () => parseEventProof(await ask(`/audit-events/${eventId}/proof`));
  const before = await proof();
  const redaction = { fields: ['payload.iban'], reason: 'x' };
  const receipt = await ask(`/audit-events/${eventId}/redact`, redaction);
  assert.deepEqual((JSON.parse(receipt) as { fields: string[] }).fields, ['payload.iban'], receipt);
  assert.deepEqual((await caller.get(eventId)).body.payload, { amount: 7 });
  assert.equal((await finder.search({ query: 'DE02120300000000202051' })).body.totalCount, 0);
  assert.equal((await finder.search({ query: 'payload.amount:7' })).body.totalCount, 1);
  const verifiers = [await noteVerifier((await ask('/log/t/redacted/key')).trim())];
  assert.ok((await verifyEventProof(before, { verifiers })).whole);
  assert.ok(!(await verifyEventProof(await proof(), { verifiers })).whole);
  const stored =
    "SELECT count(*)::int AS count FROM tallystick.contents WHERE position('DE0212' in text2) > 0";
  const pool = new Pool({ connectionString: url, max: 1 });
  const { rows } = await pool.query<{ count: number }>(stored);
  await pool.end();
  assert.equal(rows[0]?.count, 0);
  const { faults } = await checkDatabase(url, {
    keys: [],
    seen: [],
    directory: app.dataDirectory,
    setting: 'Storage__Url',
  });
  assert.deepEqual(faults, []);
});

test('all content of a tenant is erased but what a hold keeps, and the log is verified', async () => {
  const caller = eventCaller(app, 'leaving');
  const ids: string[] = [];
  for (const note of ['canary-leaving', 'canary-leaving', 'held']) {
    const { code, body } = await caller.ingest({ ...EVENT, payload: { note } });
    assert.equal(code, '201');
    ids.push(body.eventId);
  }
  const headers = { 'X-API-Key': 'Secret', 'X-Tenant-Id': 'leaving', 'Content-Type': 'application/json' };
  const ask = async (path: string, body?: object) => {
    const init = { headers, ...(body && { method: 'POST', body: JSON.stringify(body) }) };
    return (await (await fetch(`${app.url}/api/v1${path}`, init)).json()) as Erasure & { holdId: string };
  };
  await ask('/legal-holds', { name: 'court', reason: 'x', conditions: { 'payload.note': 'held' } });
  const made = await ask('/erasures', { tenantId: 'leaving', reason: 'x' });
  const erasure = () => ask(`/erasures/${made.erasureId}`);
  const deadline = Date.now() + PATIENCE_MS;
  while ((await erasure()).heldEvents === undefined) {
    assert.ok(Date.now() < deadline, JSON.stringify(await erasure()));
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const { status, matchedEvents, erasedEvents, heldEvents } = await erasure();
  assert.deepEqual([status, matchedEvents, erasedEvents, heldEvents], ['Processing', 3, 2, 1]);
  assert.ok('purgedAt' in (await caller.get(ids[0]!)).body);
  assert.deepEqual((await caller.get(ids[2]!)).body.payload, { note: 'held' });
  const { eventId } = (await caller.ingest({ ...EVENT, payload: { note: 'later' } })).body;
  assert.deepEqual((await caller.get(eventId)).body.payload, { note: 'later' });
  const database = { keys: [], seen: [], directory: app.dataDirectory, setting: 'Storage__Url' };
  assert.deepEqual((await checkDatabase(url, database)).faults, []);
});

async function ready(): Promise<number> {
  return (await fetch(`${app.url}/health/ready`)).status;
}

/** Sends until it is answered so; every answer that is not 201 must be 503 and say when to come again. */
async function sendUntil(wanted: 201 | 503): Promise<string[]> {
  const stored: string[] = [];
  const deadline = Date.now() + PATIENCE_MS;
  for (;;) {
    const response = await fetch(`${app.url}/api/v1/audit-events`, {
      method: 'POST',
      headers: { 'X-API-Key': 'Secret', 'X-Tenant-Id': 'acme', 'Content-Type': 'application/json' },
      body: JSON.stringify(EVENT),
    });
    const body = (await response.json()) as { eventId: string };
    if (response.status === 201) stored.push(body.eventId);
    else {
      assert.equal(response.status, 503, JSON.stringify(body));
      assert.ok(Number(response.headers.get('retry-after')) >= 1);
    }
    if (response.status === wanted) return stored;
    assert.ok(Date.now() < deadline, `still ${response.status}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function untilReady(): Promise<void> {
  const deadline = Date.now() + PATIENCE_MS;
  while ((await ready()) !== 200) {
    assert.ok(Date.now() < deadline, 'it recovers by itself');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Every read is 503 too, and reveals nothing internal. */
async function requireAway(eventId: string): Promise<void> {
  const headers = { 'X-API-Key': 'Secret', 'X-Tenant-Id': 'acme', 'Content-Type': 'application/json' };
  for (const path of [
    `/audit-events/${eventId}`,
    `/audit-events/${eventId}/proof`,
    '/audit-events',
    '/event-streams',
    '/log/t/acme/checkpoint',
    '/admin/dead-letter-queue',
    '/admin/operations/01M7HVN34EBHTT7ZBA52W2BGYC',
  ]) {
    const response = await fetch(`${app.url}/api/v1${path}`, { headers });
    const text = await response.text();
    assert.equal(response.status, 503, `${path}: ${text}`);
    assert.ok(Number(response.headers.get('retry-after')) >= 1, path);
    assert.doesNotMatch(text, /ECONN|pg_|terminat|127\.0\.0\.1/, path);
  }
  const body = JSON.stringify({ query: 'invoice' });
  const search = await fetch(`${app.url}/api/v1/audit-events/search`, { method: 'POST', headers, body });
  assert.equal(search.status, 503);
}

test('a database that is killed is 503 until it is back; nothing acknowledged is lost', async () => {
  const [before = ''] = await sendUntil(201);
  await server.kill();
  await sendUntil(503);
  assert.equal(await ready(), 503);
  await requireAway(before);
  await server.start();
  await untilReady();
  const [afterwards = ''] = await sendUntil(201);
  for (const id of [before, afterwards]) assert.equal((await eventCaller(app).get(id)).code, '200');
});

test('a database that stands still is 503 within its time, and all goes on when it moves again', async () => {
  await sendUntil(201);
  await server.freeze();
  await sendUntil(503);
  assert.equal(await ready(), 503);
  await server.thaw();
  await untilReady();
  await sendUntil(201);
});
