// The guards against two nodes that write to one log at once: each guard is removed, and the remaining ones are tested.
// The condition on the leaf is the only guard against an entry after one that was never stored.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Client } from 'pg';
import { PATIENT_LIMITS, type Databases, openDatabases } from '../../../testing/postgres-server.ts';
import { until } from '../../../testing/until.ts';
import { decodePool, encodePool } from '../../pool/append-message.ts';
import { KnownDecisions } from './decisions.ts';
import { AppendAtOnce } from './append-at-once.ts';
import { Database, SCHEMA } from '../connection/database.ts';
import { Heads } from './heads.ts';
import type { Pipeline } from '../connection/pipeline.ts';
import { migrate } from '../schema/migrate.ts';
import { WRITE_AT_ONCE } from './pool-statements.ts';
import { committer, newWriter, NOW, requestOf, WRITING } from '../testing/plain-writer.ts';

/** Parts of the statement. */
const GUARDS = {
  index: 'AND heads.next_index = moved.from_index',
  leaf: 'AND heads.leaf IS NOT DISTINCT FROM moved.from_leaf',
  lock: 'FOR UPDATE OF heads SKIP LOCKED',
} as const;
type Guard = keyof typeof GUARDS;

/** Unique keys of entries; those of neighbouring tables are dropped with any of them. */
const KEYS = {
  place: 'ALTER TABLE entries DROP CONSTRAINT entries_pkey',
  leafBefore: 'DROP INDEX entries_by_previous',
  eventId: 'DROP INDEX entries_by_event',
} as const;
type Key = keyof typeof KEYS;
const BESIDE = `ALTER TABLE contents DROP CONSTRAINT contents_pkey; ALTER TABLE streams DROP CONSTRAINT streams_pkey`;

const ALL_GUARDS: readonly Guard[] = ['index', 'leaf', 'lock'];
const ALL_KEYS: readonly Key[] = ['place', 'leafBefore', 'eventId'];

function statementWith(guards: readonly Guard[]): string {
  let { text } = WRITE_AT_ONCE;
  for (const [guard, part] of Object.entries(GUARDS)) {
    assert.ok(text.includes(part), part);
    if (!guards.includes(guard as Guard)) text = text.replace(part, '');
  }
  return text;
}

let server: Databases;
const urls = new Map<string, string>();
before(async () => {
  server = await openDatabases();
});
after(() => server?.[Symbol.asyncDispose]());

async function databaseWith(keys: readonly Key[]): Promise<string> {
  const known = urls.get(keys.join());
  if (known !== undefined) return known;
  const url = await server.createDatabase();
  await using owner = new Database({ url, connectionsMax: 1, ...PATIENT_LIMITS });
  await migrate(owner, 'postgres');
  const gone = ALL_KEYS.filter((key) => !keys.includes(key)).map((key) => KEYS[key]);
  if (gone.length > 0)
    await owner.plainly((client) =>
      client.query(`SET search_path = ${SCHEMA}; ${[BESIDE, ...gone].join('; ')}`),
    );
  urls.set(keys.join(), url);
  return url;
}

async function connect(url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query(`SET search_path = ${SCHEMA}`);
  return client;
}

let tenants = 0;
async function newTenant(client: Client): Promise<string> {
  const tenant = `tenant-${++tenants}`;
  await client.query(`INSERT INTO tenants (tenant_id, fingerprint_key, created_at_ms) VALUES ($1, '', 0)`, [
    tenant,
  ]);
  await client.query('INSERT INTO heads (tenant_id) VALUES ($1)', [tenant]);
  return tenant;
}

/** The statements that a node would send for its next pools, in sequence, with the current head. */
async function nextPools(database: Database, tenant: string, count: number): Promise<unknown[][]> {
  const sent: unknown[][] = [];
  const commit = async (_scope: unknown, _statement: unknown, values: readonly unknown[]) => {
    sent.push(values.map((value) => (value instanceof Uint8Array ? Buffer.from(value) : value)));
    return [];
  };
  const heads = new Heads(WRITING.logOrigin);
  await database.inTransaction({ role: 'Writer', tenants: [tenant] }, async (transaction) => {
    heads.remember((await heads.lock(transaction, [tenant])).heads.values());
  });
  const pipeline = { commit } as unknown as Pipeline;
  const months = { hasAll: () => true };
  const decisions = new KnownDecisions();
  const atOnce = new AppendAtOnce({
    pipeline,
    heads,
    months,
    decisions,
    clock: WRITING.clock,
    writing: WRITING,
  });
  for (let i = 0; i < count; i++) {
    const { requests } = decodePool(encodePool([requestOf(tenant)], NOW));
    const open = [{ request: requests[0]!, place: 0, firstRow: 0 }];
    assert.ok(atOnce.send(open, { commitments: committer.make(requests), now: NOW }) !== undefined);
  }
  return sent;
}

/** A row that a key refuses is not written, like one that is skipped. */
async function write(client: Client, text: string, values: unknown[]): Promise<void> {
  await client.query({ text, values }).catch((error: Error & { code?: string }) => {
    assert.equal(error.code, '23505');
  });
}

/** The other node has written but not committed when it begins. */
async function race(
  one: () => Promise<void>,
  other: () => Promise<void>,
  a: Client,
  b: Client,
): Promise<void> {
  await a.query('BEGIN');
  await one();
  await b.query('BEGIN');
  let isDone = false;
  const second = other().finally(() => (isDone = true));
  // It is skipped, or waits for a key.
  await until(async () => isDone || (await isAnybodyWaiting(a)));
  await a.query('COMMIT');
  await second;
  await b.query('COMMIT');
}

async function isAnybodyWaiting(client: Client): Promise<boolean> {
  const { rows } = await client.query('SELECT 1 FROM pg_locks WHERE NOT granted');
  return rows.length > 0;
}

type Case = 'Stale' | 'Racing' | 'Behind';

/** The faults of a log that two nodes have written to, with these guards and keys left. */
async function faultsAfter(which: Case, guards: readonly Guard[], keys: readonly Key[]): Promise<string[]> {
  const url = await databaseWith(keys);
  const text = statementWith(guards);
  await using database = new Database({ url, connectionsMax: 2, ...PATIENT_LIMITS });
  const [a, b] = [await connect(url), await connect(url)];
  try {
    const tenant = await newTenant(a);
    await newWriter(database).append([requestOf(tenant)], NOW);
    const [[one], [other, behind]] = [
      (await nextPools(database, tenant, 1)) as [unknown[]],
      (await nextPools(database, tenant, 2)) as [unknown[], unknown[]],
    ];
    if (which === 'Stale') {
      await write(a, text, one);
      await write(b, text, other);
    } else
      await race(
        () => write(a, text, one),
        () => write(b, text, other),
        a,
        b,
      );
    // The second of its pools was already sent when the first one missed.
    if (which === 'Behind') await write(b, text, behind);
    return await faultsOf(a, tenant);
  } finally {
    await Promise.all([a.end(), b.end()]);
  }
}

async function faultsOf(client: Client, tenant: string): Promise<string[]> {
  const { rows } = await client.query<{ place: string; leaf: string; previous: string }>(
    `SELECT leaf_index AS place, encode(leaf, 'hex') AS leaf, encode(substring(entry from 53 for 32), 'hex') AS previous
     FROM entries WHERE tenant_id = $1`,
    [tenant],
  );
  const leaves = new Set(rows.map(({ leaf }) => leaf));
  const previous = new Set(rows.map((row) => row.previous));
  const isBroken = rows.some((row) => Number(row.place) > 0 && !leaves.has(row.previous));
  return [...(previous.size < rows.length ? ['Fork'] : []), ...(isBroken ? ['BrokenLink'] : [])];
}

const CASES: readonly Case[] = ['Stale', 'Racing', 'Behind'];

test('all of them hold, and so do the condition and the lock without any key', async () => {
  for (const keys of [ALL_KEYS, []])
    for (const which of CASES) assert.deepEqual(await faultsAfter(which, ALL_GUARDS, keys), [], which);
});

test('the key of indexes and that of previous leaves each prevent a fork alone', async () => {
  for (const key of ['place', 'leafBefore'] as const)
    for (const which of ['Stale', 'Racing'] as const)
      assert.deepEqual(await faultsAfter(which, [], [key]), [], `${key} ${which}`);
});

test('only the condition on the leaf prevents an entry after one that was never stored', async () => {
  for (const guards of [['lock'], ['lock', 'index']] as const)
    assert.deepEqual(await faultsAfter('Behind', guards, ALL_KEYS), ['BrokenLink'], guards.join());
  assert.deepEqual(await faultsAfter('Behind', ['lock', 'leaf'], ALL_KEYS), []);
});

test('control: condition, lock and the key of ids are each not enough alone', async () => {
  assert.deepEqual(await faultsAfter('Racing', ['index', 'leaf'], []), ['Fork']);
  assert.deepEqual(await faultsAfter('Stale', ['lock'], []), ['Fork']);
  assert.deepEqual(await faultsAfter('Racing', [], ['eventId']), ['Fork']);
});
