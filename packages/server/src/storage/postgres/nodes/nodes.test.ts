// Several nodes on one database: each log has one history without a gap, however many nodes append to it.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Client } from 'pg';
import { prepareLogs, raw, requireOneHistory, startLogNode } from '../../../testing/postgres-nodes.ts';
import { type Databases, openDatabases } from '../../../testing/postgres-server.ts';
import type { OnLocked } from '../../../streams/log.ts';
import { draftOf, now, once, placedIn, request, STREAMS } from '../../conformance/claims.ts';
import { SCHEMA } from '../connection/database.ts';

const TENANTS = ['acme', 'beta', 'gamma'];

let server: Databases;
let url: string;
before(async () => {
  server = await openDatabases();
  url = await server.createDatabase();
  await prepareLogs(url, TENANTS);
});
after(() => server?.[Symbol.asyncDispose]());

const sizeOf = async (tenant: string) => (await requireOneHistory(url, tenant)).length;

test('four nodes append to the same logs at once: one history each, and every event gets its own index', async () => {
  await using nodes = new AsyncDisposableStack();
  const logs = Array.from({ length: 4 }, () => nodes.use(startLogNode(url)).log);
  const before = await Promise.all(TENANTS.map(sizeOf));
  const places = new Set<string>();
  const rounds = 15;
  await Promise.all(
    logs.map(async (log) => {
      for (let round = 0; round < rounds; round++) {
        const pool = [...TENANTS, 'acme'].map((tenant) => request(tenant, [draftOf(), draftOf()]));
        const results = await log.append(pool, now(Date.now()));
        for (const [i, result] of results.entries())
          for (const { index } of placedIn(result)) places.add(`${pool[i]!.tenant} ${index}`);
      }
    }),
  );
  assert.equal(places.size, 4 * rounds * 8);
  const after = await Promise.all(TENANTS.map(sizeOf));
  assert.deepEqual(
    after.map((size, i) => size - before[i]!),
    [4 * rounds * 4, 4 * rounds * 2, 4 * rounds * 2],
  );
});

test('of the same key on four nodes at once, exactly one stores, and all get the same answer', async () => {
  await using nodes = new AsyncDisposableStack();
  const logs = Array.from({ length: 4 }, () => nodes.use(startLogNode(url)).log);
  const size = await sizeOf('beta');
  for (let i = 0; i < 10; i++) {
    const results = await Promise.all(
      logs.map((log) => log.append([request('beta', [draftOf()], { once: once(`key-${i}`) })], now())),
    );
    const statuses = results.map(([result]) => result!.status).toSorted();
    assert.deepEqual(statuses, ['Done', 'Repeated', 'Repeated', 'Repeated']);
  }
  assert.equal(await sizeOf('beta'), size + 10);
});

test('streams are cut once, for any node at the boundary', async () => {
  await using nodes = new AsyncDisposableStack();
  const logs = Array.from(
    { length: 3 },
    () => nodes.use(startLogNode(url, { ...STREAMS, sealAfterEvents: 5 })).log,
  );
  await Promise.all(
    logs.map(async (log) => {
      for (let i = 0; i < 10; i++)
        await log.append([request('gamma', [draftOf(), draftOf()])], now(Date.now()));
    }),
  );
  await sizeOf('gamma');
  const streams = await logs[0]!.forTenant('gamma').streams({ after: undefined }, 100);
  assert.deepEqual(
    streams.filter(({ fault }) => fault !== undefined),
    [],
  );
  assert.ok(streams.length >= 12, `${streams.length} streams`);
});

test('a locked log is skipped: others of the same pool do not wait for it', async () => {
  await using node = startLogNode(url);
  const holder = new Client({ connectionString: url });
  await holder.connect();
  await holder.query(`BEGIN; SELECT 1 FROM ${SCHEMA}.heads WHERE tenant_id = 'acme' FOR UPDATE`);
  const size = await sizeOf('beta');
  const { promise: told, resolve: onLocked } = Promise.withResolvers<Parameters<OnLocked>[0]>();
  let isDone = false;
  const requests = [request('acme', [draftOf()]), request('beta', [draftOf()])];
  const appended = node.log.append(requests, now(Date.now()), onLocked).finally(() => (isDone = true));
  const decided = await told;
  assert.deepEqual(
    [...decided].map(([place, { status }]) => [place, status]),
    [[1, 'Done']],
  );
  assert.equal(await sizeOf('beta'), size + 1);
  assert.equal(isDone, false);
  await holder.query('ROLLBACK');
  await holder.end();
  assert.deepEqual(
    (await appended).map(({ status }) => status),
    ['Done', 'Done'],
  );
});

test('a log whose newest entry was changed accepts nothing more, and the others of its pool do', async () => {
  await using node = startLogNode(url);
  await raw(
    url,
    `UPDATE entries SET leaf = sha256('x') WHERE tenant_id = 'acme'
    AND leaf_index = (SELECT max(leaf_index) FROM entries WHERE tenant_id = 'acme')`,
  );
  const results = await node.log.append(
    [request('acme', [draftOf()]), request('beta', [draftOf()])],
    now(Date.now()),
  );
  assert.deepEqual(
    results.map(({ status }) => status),
    ['Faulty', 'Done'],
  );
});

test('control: without the lock and the condition on the head, the tables themselves refuse a fork', async () => {
  const [row] = await raw(
    url,
    `SELECT * FROM entries WHERE tenant_id = 'beta' ORDER BY leaf_index DESC LIMIT 1`,
  );
  const columns = 'tenant_id, leaf_index, classification, content_month, entry, leaf, root1, root2';
  const put = (index: number, entry: Buffer) =>
    raw(url, `INSERT INTO entries (${columns}) VALUES ($1, $2, 1, 0, $3, $4, $4, $4)`, [
      'beta',
      index,
      entry,
      row!['leaf'],
    ]);
  const entry = Buffer.from(row!['entry'] as Buffer);
  const index = Number(row!['leaf_index']);
  await assert.rejects(put(index, entry), /entries_\d+_pkey/);
  await assert.rejects(put(index + 1, entry), /duplicate key/);
  // Another event that links to the same leaf.
  entry.set(Buffer.alloc(16, 7), 36);
  await assert.rejects(put(index + 1, entry), /duplicate key/);
});

test('a month whose partition has gone with a restore is made again', async () => {
  await using node = startLogNode(url);
  const send = async () => {
    const expiring = { ...draftOf(), retention: 'P150Y' };
    return (await node.log.append([request('beta', [expiring])], now(Date.now())))[0]!.status;
  };
  assert.equal(await send(), 'Done');
  const newest = `SELECT tableoid::regclass::text AS part FROM contents WHERE tenant_id = 'beta' ORDER BY leaf_index DESC LIMIT 1`;
  const [row] = await raw(url, newest);
  await raw(url, `DROP TABLE ${String(row!['part'])}`);
  assert.equal(await send(), 'Done');
});

test('a locked log does not delay writers of other logs', async () => {
  await using node = startLogNode(url);
  const holder = new Client({ connectionString: url });
  await holder.connect();
  await holder.query(`BEGIN; SELECT 1 FROM ${SCHEMA}.heads WHERE tenant_id = 'gamma' FOR UPDATE`);
  const held = node.log.append([request('gamma', [draftOf()])], now(Date.now()));
  let isHeld = true;
  void held.then(() => (isHeld = false));
  await node.log.append([request('beta', [draftOf()])], now(Date.now()));
  const wasHeld = isHeld;
  await holder.query('ROLLBACK').catch(() => {});
  await holder.end();
  await held;
  assert.ok(wasHeld, 'it was stored while the other one waited');
});
