// Several nodes on one database: whoever appends to whatever, there is one history of each log, without a gap.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Client } from 'pg';
import { decodeEntry, equalBytes, genesisHash, leafHash } from '@tallystick/evidence';
import { systemClock } from '../../runtime/clock.ts';
import { createUlids } from '../../runtime/ids.ts';
import { createSystemRandom } from '../../runtime/random.ts';
import type { LogReader, LogWriter } from '../../streams/log.ts';
import { type PostgresServer, startPostgres } from '../../testing/postgres-server.ts';
import { draftOf, now, once, placedIn, request, STREAMS } from '../conformance/claims.ts';
import { PoolCommitter } from '../pool/pool-commitments.ts';
import { Database, SCHEMA } from './database.ts';
import { createLog } from './log.ts';
import { migrate } from './migrate.ts';

const ORIGIN = 'audit.example.com';
const TENANTS = ['acme', 'beta', 'gamma'];

let server: PostgresServer;
let url: string;
before(async () => {
  server = await startPostgres();
  url = await server.createDatabase();
  await using owner = new Database({ url, connectionsMax: 1 });
  await migrate(owner, 'postgres');
  for (const tenant of TENANTS) await raw('INSERT INTO heads (tenant_id) VALUES ($1)', [tenant]);
});
after(() => server?.[Symbol.asyncDispose]());

async function raw(sql: string, values: unknown[] = []): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(`SET search_path = ${SCHEMA}`);
    return (await client.query<Record<string, unknown>>(sql, values)).rows;
  } finally {
    await client.end();
  }
}

interface Node extends AsyncDisposable {
  readonly log: LogWriter & LogReader;
}

function startNode(streams = STREAMS): Node {
  const random = createSystemRandom();
  const writing = new Database({ url, connectionsMax: 1 });
  const reading = new Database({ url, connectionsMax: 2 });
  const nextId = createUlids(systemClock, random);
  const committer = new PoolCommitter(random);
  const parts = {
    writing,
    reading,
    committer,
    logOrigin: ORIGIN,
    streams,
    clock: systemClock,
    random,
    nextId,
  };
  return {
    log: createLog(parts),
    async [Symbol.asyncDispose]() {
      await writing[Symbol.asyncDispose]();
      await reading[Symbol.asyncDispose]();
    },
  };
}

/** Each entry names the leaf before it, and is what was hashed; gives how many there are. */
async function requireOneHistory(tenant: string): Promise<number> {
  const rows = await raw('SELECT * FROM entries WHERE tenant_id = $1 ORDER BY leaf_index', [tenant]);
  let previous = genesisHash(`${ORIGIN}/t/${tenant}`);
  for (const [i, row] of rows.entries()) {
    const entry = decodeEntry(Uint8Array.from(row['entry'] as Buffer));
    assert.equal(Number(row['leaf_index']), i);
    assert.equal(entry.index, i);
    assert.ok(equalBytes(entry.previous, previous), `${tenant} ${i}`);
    previous = Uint8Array.from(row['leaf'] as Buffer);
    assert.ok(equalBytes(leafHash(Uint8Array.from(row['entry'] as Buffer)), previous));
  }
  const [head] = await raw('SELECT next_index, leaf FROM heads WHERE tenant_id = $1', [tenant]);
  assert.equal(Number(head!['next_index']), rows.length);
  assert.ok(equalBytes(Uint8Array.from(head!['leaf'] as Buffer), previous));
  return rows.length;
}

test('four nodes append to the same logs at once: one history each, and everybody gets a place of their own', async () => {
  await using nodes = new AsyncDisposableStack();
  const logs = Array.from({ length: 4 }, () => nodes.use(startNode()).log);
  const before = await Promise.all(TENANTS.map(requireOneHistoryOrNone));
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
  const after = await Promise.all(TENANTS.map(requireOneHistory));
  assert.deepEqual(
    after.map((size, i) => size - before[i]!),
    [4 * rounds * 4, 4 * rounds * 2, 4 * rounds * 2],
  );
});

async function requireOneHistoryOrNone(tenant: string): Promise<number> {
  const [head] = await raw('SELECT next_index FROM heads WHERE tenant_id = $1', [tenant]);
  return Number(head!['next_index']) === 0 ? 0 : requireOneHistory(tenant);
}

test('of the same key on four nodes at once, exactly one stores, and all get the same answer', async () => {
  await using nodes = new AsyncDisposableStack();
  const logs = Array.from({ length: 4 }, () => nodes.use(startNode()).log);
  const size = await requireOneHistoryOrNone('beta');
  for (let i = 0; i < 10; i++) {
    const results = await Promise.all(
      logs.map((log) => log.append([request('beta', [draftOf()], { once: once(`key-${i}`) })], now())),
    );
    const statuses = results.map(([result]) => result!.status).toSorted();
    assert.deepEqual(statuses, ['Done', 'Repeated', 'Repeated', 'Repeated']);
  }
  assert.equal(await requireOneHistory('beta'), size + 10);
});

test('streams are cut once, whichever node comes to the boundary', async () => {
  await using nodes = new AsyncDisposableStack();
  const logs = Array.from({ length: 3 }, () => nodes.use(startNode({ ...STREAMS, sealAfterEvents: 5 })).log);
  await Promise.all(
    logs.map(async (log) => {
      for (let i = 0; i < 10; i++)
        await log.append([request('gamma', [draftOf(), draftOf()])], now(Date.now()));
    }),
  );
  await requireOneHistory('gamma');
  const streams = await logs[0]!.forTenant('gamma').streams({ after: undefined }, 100);
  assert.deepEqual(
    streams.filter(({ fault }) => fault !== undefined),
    [],
  );
  assert.ok(streams.length >= 12, `${streams.length} streams`);
});

test('a log that somebody holds is passed by: others of the same pool do not wait for it', async () => {
  await using node = startNode();
  const holder = new Client({ connectionString: url });
  await holder.connect();
  await holder.query(`BEGIN; SELECT 1 FROM ${SCHEMA}.heads WHERE tenant_id = 'acme' FOR UPDATE`);
  const size = await requireOneHistoryOrNone('beta');
  let isDone = false;
  const appended = node.log
    .append([request('acme', [draftOf()]), request('beta', [draftOf()])], now(Date.now()))
    .finally(() => (isDone = true));
  for (;;) {
    const [head] = await raw("SELECT next_index FROM heads WHERE tenant_id = 'beta'");
    if (Number(head!['next_index']) === size + 1) break;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  assert.equal(isDone, false);
  await holder.query('ROLLBACK');
  await holder.end();
  assert.deepEqual(
    (await appended).map(({ status }) => status),
    ['Done', 'Done'],
  );
});

test('a log whose newest entry was changed takes nothing more, and the others of its pool do', async () => {
  await using node = startNode();
  await raw(`UPDATE entries SET leaf = sha256('x') WHERE tenant_id = 'acme'
    AND leaf_index = (SELECT max(leaf_index) FROM entries WHERE tenant_id = 'acme')`);
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
  const [row] = await raw(`SELECT * FROM entries WHERE tenant_id = 'beta' ORDER BY leaf_index DESC LIMIT 1`);
  const columns = 'tenant_id, leaf_index, classification, content_month, entry, leaf, root1, root2';
  const put = (index: number, entry: Buffer) =>
    raw(`INSERT INTO entries (${columns}) VALUES ($1, $2, 1, 0, $3, $4, $4, $4)`, [
      'beta',
      index,
      entry,
      row!['leaf'],
    ]);
  const entry = Buffer.from(row!['entry'] as Buffer);
  const index = Number(row!['leaf_index']);
  await assert.rejects(put(index, entry), /entries_\d+_pkey/);
  await assert.rejects(put(index + 1, entry), /duplicate key/);
  // Another event that follows upon the same leaf.
  entry.set(Buffer.alloc(16, 7), 36);
  await assert.rejects(put(index + 1, entry), /duplicate key/);
});
