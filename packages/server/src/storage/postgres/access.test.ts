import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Client } from 'pg';
import type { ApiKeyRecord } from '../../access/api-keys.ts';
import { createFakeClock } from '../../runtime/fake-clock.ts';
import { createSystemRandom } from '../../runtime/random.ts';
import { PATIENT_LIMITS, type PostgresServer, startPostgres } from '../../testing/postgres-server.ts';
import { createAccessStores } from './access-stores.ts';
import { Database, PROJECTOR, SCHEMA, statement } from './database.ts';
import { migrate } from './migrate.ts';

const random = createSystemRandom();
const NOW_MS = 1_800_000_000_000;

let server: PostgresServer;
let migrated: string;
before(async () => {
  server = await startPostgres();
  migrated = await server.createDatabase();
  await using owner = new Database({ url: migrated, connectionsMax: 1 });
  await migrate(owner, 'postgres');
});
after(async () => {
  await server?.[Symbol.asyncDispose]();
});

/** A node with connections, a memory and a clock of its own. */
async function node(at?: string) {
  const url = at ?? (await server.createDatabase(migrated));
  const database = new Database({ url, connectionsMax: 4, ...PATIENT_LIMITS });
  const clock = createFakeClock();
  const failures: unknown[] = [];
  const onFailure = (error: unknown) => void failures.push(error);
  return {
    url,
    database,
    clock,
    failures,
    ...createAccessStores(database, { clock, random, onFailure }),
    [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
  };
}

async function asOwner(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: url, options: `-c search_path=${SCHEMA}` });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}

/** How many there were that made tenants. */
async function commitsOf(url: string): Promise<number> {
  const [row] = await asOwner(url, 'SELECT count(DISTINCT xmin::text)::integer AS count FROM tenants');
  return Number(row?.['count']);
}

async function versionOf(url: string): Promise<number> {
  const [row] = await asOwner(url, "SELECT value FROM meta WHERE name = 'access_version'");
  return Number(row?.['value'] ?? 0);
}

const record = (n: number, facts: Partial<ApiKeyRecord> = {}): ApiKeyRecord => ({
  keyId: `01KE00000000000000000000${String(n).padStart(2, '0')}`,
  tenantId: 'acme',
  name: 'ci',
  roles: ['Operator', 'Auditor'],
  scopes: ['audit:write'],
  clearance: 'Confidential',
  createdAtMs: NOW_MS,
  createdBy: 'system',
  expiresAtMs: NOW_MS + 1000,
  revokedAtMs: undefined,
  replaces: undefined,
  ...facts,
});
const hash = (n: number) => new Uint8Array(32).fill(n);

test('a key comes back as it was made, by hash, by id and in lists', async () => {
  await using store = await node();
  const plain = { roles: [], scopes: [], clearance: undefined, expiresAtMs: undefined };
  const [first, second] = [record(1), record(2, { tenantId: '*', ...plain })];
  assert.equal(await store.keys.create(second, hash(2)), true);
  assert.equal(await store.keys.create(first, hash(1)), true);
  assert.deepEqual(await store.keys.findByHash(hash(1)), first);
  assert.deepEqual(await store.keys.find(second.keyId), second);
  assert.equal(await store.keys.findByHash(hash(9)), undefined);
  assert.equal(await store.keys.find('01KE0000000000000000000099'), undefined);
  assert.deepEqual(await store.keys.list(), [first, second]);
  assert.deepEqual(await store.keys.list('*'), [second]);
  assert.deepEqual(await store.keys.list('other'), []);
});

test('the same key is not made twice, not for another tenant, and not by two nodes at once', async () => {
  await using one = await node();
  await using two = await node(one.url);
  assert.equal(await one.keys.create(record(1), hash(1)), true);
  assert.equal(await one.keys.create(record(2), hash(1)), false);
  assert.equal(await two.keys.create(record(3, { tenantId: '*' }), hash(1)), false);
  assert.deepEqual(await one.keys.list(), [record(1)]);
  for (let n = 10; n < 30; n += 2) {
    const made = await Promise.all([
      one.keys.create(record(n), hash(n)),
      two.keys.create(record(n + 1, { tenantId: '*' }), hash(n)),
    ]);
    assert.deepEqual(made.toSorted(), [false, true]);
  }
  assert.equal((await one.keys.list()).length, 11);
});

test('of nodes that start for the first time at once, one makes the first key', async () => {
  await using one = await node();
  await using two = await node(one.url);
  const made = await Promise.all(
    [one, two, one, two].map(({ keys }, n) => keys.createFirst(record(n, { tenantId: '*' }), hash(n))),
  );
  assert.deepEqual(made.filter(Boolean), [true]);
  assert.equal((await two.keys.list()).length, 1);
  assert.equal(await one.keys.createFirst(record(9, { tenantId: '*' }), hash(9)), false);
  assert.equal(await one.keys.createFirst(record(8), hash(8)), true, 'of each tenant there is a first one');
});

test('whoever shows a key sees the row of that key alone', async () => {
  await using store = await node();
  await store.keys.create(record(1), hash(1));
  await store.keys.create(record(2), hash(2));
  const all = statement('SELECT key_id FROM api_keys');
  const shown = await store.database.read({ role: 'Reader', keyHash: hash(1) }, all);
  assert.deepEqual(
    shown.map(({ key_id: id }) => id),
    [record(1).keyId],
  );
  assert.equal((await store.database.read(PROJECTOR, all)).length, 2);
});

test('what another node changes is seen after 50 ms, and what it does not is read once', async () => {
  await using store = await node();
  await using other = await node(store.url);
  await other.keys.create(record(1), hash(1));
  const before = await store.keys.findByHash(hash(1));
  assert.deepEqual(before, record(1));
  await store.clock.advance(50);
  // The same object: it was not read again.
  assert.equal(await store.keys.findByHash(hash(1)), before);
  assert.equal(await other.keys.revoke(record(1).keyId, NOW_MS + 5), true);
  await store.clock.advance(49);
  assert.equal(await store.keys.findByHash(hash(1)), before, 'kept for as long as it may be');
  await store.clock.advance(1);
  assert.equal((await store.keys.findByHash(hash(1)))?.revokedAtMs, NOW_MS + 5);
  assert.equal(await other.keys.revoke(record(1).keyId, NOW_MS + 9), false);
  assert.equal((await other.keys.findByHash(hash(1)))?.revokedAtMs, NOW_MS + 5);
});

test('a change through the store is seen at once', async () => {
  await using store = await node();
  await store.keys.create(record(1), hash(1));
  assert.equal((await store.keys.findByHash(hash(1)))?.revokedAtMs, undefined);
  await store.keys.revoke(record(1).keyId, NOW_MS + 5);
  assert.equal((await store.keys.findByHash(hash(1)))?.revokedAtMs, NOW_MS + 5);
});

test('what was being read when a key was revoked is not kept', async () => {
  await using store = await node();
  await store.keys.create(record(1), hash(1));
  for (let round = 0; round < 20; round++) {
    const asked = Array.from({ length: 8 }, () => store.keys.findByHash(hash(1)));
    const revoking = round === 10 ? store.keys.revoke(record(1).keyId, NOW_MS + 5) : undefined;
    await Promise.all([...asked, revoking]);
    const revokedAtMs = (await store.keys.findByHash(hash(1)))?.revokedAtMs;
    assert.equal(revokedAtMs, round >= 10 ? NOW_MS + 5 : undefined, `round ${round}`);
  }
});

test('what changes counts the version up, and what does not leaves it', async () => {
  await using store = await node();
  const counts = async (by: number, work: () => Promise<unknown>) => {
    const from = await versionOf(store.url);
    await work();
    assert.equal((await versionOf(store.url)) - from, by);
  };
  await counts(1, () => store.keys.create(record(1), hash(1)));
  await counts(0, () => store.keys.create(record(2), hash(1)));
  await counts(1, () => store.keys.rotate(record(3, { replaces: record(1).keyId }), hash(3), NOW_MS + 500));
  await counts(0, () => store.keys.rotate(record(4, { replaces: record(1).keyId }), hash(4), NOW_MS + 500));
  await counts(1, () => store.keys.revoke(record(3).keyId, NOW_MS));
  await counts(0, () => store.keys.revoke(record(3).keyId, NOW_MS));
  await counts(0, () => store.keys.revoke(record(9).keyId, NOW_MS));
  // Nobody has remembered a tenant that was not there.
  await counts(0, () => store.tenants.ensure('acme', NOW_MS));
  await store.clock.advance(50);
  await counts(0, () => store.tenants.ensure('acme', NOW_MS));
});

test('a rotated key works until the grace period ends, or its own end if that is sooner', async () => {
  await using store = await node();
  const forever = { expiresAtMs: undefined };
  await store.keys.create(record(1), hash(1));
  await store.keys.create(record(2, forever), hash(2));
  const next = (n: number, of: number) => record(n, { ...forever, replaces: record(of).keyId });
  assert.equal(await store.keys.rotate(next(3, 1), hash(3), NOW_MS + 5000), true);
  assert.equal(await store.keys.rotate(next(4, 2), hash(4), NOW_MS + 5000), true);
  assert.equal((await store.keys.findByHash(hash(1)))?.expiresAtMs, NOW_MS + 1000);
  assert.equal((await store.keys.findByHash(hash(2)))?.expiresAtMs, NOW_MS + 5000);
  assert.deepEqual(await store.keys.findByHash(hash(3)), next(3, 1));
});

test('a key that is unknown, over, or rotated before is not rotated, and nothing changes', async () => {
  await using store = await node();
  await store.keys.create(record(1, { expiresAtMs: NOW_MS }), hash(1));
  await store.keys.create(record(2, { revokedAtMs: 1 }), hash(2));
  await store.keys.create(record(3), hash(3));
  await store.keys.create(record(6), hash(6));
  await store.keys.rotate(record(4, { replaces: record(3).keyId }), hash(4), NOW_MS + 500);
  const before = await store.keys.list();
  for (const n of [1, 2, 3, 9]) {
    const next = record(5, { replaces: record(n).keyId });
    assert.equal(await store.keys.rotate(next, hash(5), NOW_MS), false, `key ${n}`);
  }
  const sameHash = record(5, { replaces: record(6).keyId });
  assert.equal(await store.keys.rotate(sameHash, hash(4), NOW_MS), false, 'a hash that is taken');
  assert.deepEqual(await store.keys.list(), before);
});

test('of several nodes that rotate a key at once, one does', async () => {
  await using one = await node();
  await using two = await node(one.url);
  for (let n = 0; n < 30; n += 3) {
    await one.keys.create(record(n), hash(n + 1));
    const replaces = record(n).keyId;
    const done = await Promise.all([
      one.keys.rotate(record(n + 1, { replaces }), hash(n + 2), NOW_MS + 500),
      two.keys.rotate(record(n + 2, { replaces }), hash(n + 3), NOW_MS + 500),
    ]);
    assert.deepEqual(done.toSorted(), [false, true], `key ${n}`);
  }
});

test('a tenant comes into being once, with a secret key of its own and the place where its log begins', async () => {
  await using store = await node();
  assert.equal(await store.tenants.find('acme'), undefined);
  const made = await store.tenants.ensure('acme', NOW_MS);
  const { fingerprintKey, ...facts } = made;
  assert.deepEqual(facts, {
    tenantId: 'acme',
    tier: 'Standard',
    region: undefined,
    status: 'Active',
    defaultClassification: 'Internal',
    defaultRetention: 'P7Y',
  });
  assert.equal(fingerprintKey.length, 32);
  assert.equal(await store.tenants.ensure('acme', NOW_MS + 1), made);
  assert.equal(await store.tenants.find('acme'), made);
  assert.notDeepEqual((await store.tenants.ensure('other', NOW_MS)).fingerprintKey, fingerprintKey);
  assert.equal(await store.tenants.find('Acme'), undefined);
  assert.deepEqual(await asOwner(store.url, 'SELECT tenant_id, next_index, leaf FROM heads ORDER BY 1'), [
    { tenant_id: 'acme', next_index: '0', leaf: null },
    { tenant_id: 'other', next_index: '0', leaf: null },
  ]);
});

test('tenants that are asked for at the same time share a commit', async () => {
  await using store = await node();
  const ids = Array.from({ length: 50 }, (_, i) => `t${i % 25}`);
  const made = await Promise.all(ids.map((id) => store.tenants.ensure(id, NOW_MS)));
  assert.deepEqual(
    made.map(({ tenantId }) => tenantId),
    ids,
  );
  assert.equal(await commitsOf(store.url), 1);
  await Promise.all(['a', 'b'].map((id) => store.tenants.ensure(id, NOW_MS)));
  assert.equal(await commitsOf(store.url), 2);
});

test('nodes that make the same tenants at once, in any order, make the same ones', async () => {
  await using one = await node();
  await using two = await node(one.url);
  await using three = await node(one.url);
  const ids = Array.from({ length: 1200 }, (_, i) => `t${i}`);
  const others = ids.toReversed();
  const shuffled = ids.toSorted((a, b) => hashOf(a) - hashOf(b));
  const made = await Promise.all([
    Promise.all(ids.map((id) => one.tenants.ensure(id, NOW_MS))),
    Promise.all(others.map((id) => two.tenants.ensure(id, NOW_MS))),
    Promise.all(shuffled.map((id) => three.tenants.ensure(id, NOW_MS))),
  ]);
  const keys = made
    .flat()
    .map(({ tenantId, fingerprintKey }) => `${tenantId} ${Buffer.from(fingerprintKey).toString('hex')}`);
  assert.equal(new Set(keys).size, ids.length);
  const [heads] = await asOwner(one.url, 'SELECT count(*)::integer AS n FROM heads');
  assert.equal(heads?.['n'], ids.length);
});

function hashOf(text: string): number {
  return [...text].reduce((sum, character) => (sum * 31 + character.charCodeAt(0)) % 1009, 7);
}

test('a commit that fails fails those that waited for it, and not those after', async () => {
  await using store = await node();
  await asOwner(store.url, 'ALTER TABLE tenants ADD CONSTRAINT no CHECK (false) NOT VALID');
  const asked = ['a', 'b'].map((id) => store.tenants.ensure(id, NOW_MS));
  for (const each of asked) await assert.rejects(each, { code: 'SERVICE_UNAVAILABLE' });
  assert.equal(store.failures.length, 1);
  await asOwner(store.url, 'ALTER TABLE tenants DROP CONSTRAINT no');
  assert.equal((await store.tenants.ensure('a', NOW_MS)).tenantId, 'a');
});

test('while the database cannot be reached nobody is let in, and afterwards all is as it was', async () => {
  await using alone = await startPostgres();
  const url = await alone.createDatabase();
  await using owner = new Database({ url, connectionsMax: 1 });
  await migrate(owner, 'postgres');
  await using store = await node(url);
  await store.keys.create(record(1), hash(1));
  await store.tenants.ensure('acme', NOW_MS);
  assert.deepEqual(await store.keys.findByHash(hash(1)), record(1));
  await alone.kill();
  await store.clock.advance(50);
  const wishes = [
    store.keys.findByHash(hash(1)),
    store.keys.find(record(1).keyId),
    store.keys.list(),
    store.keys.create(record(2), hash(2)),
    store.keys.rotate(record(3, { replaces: record(1).keyId }), hash(3), NOW_MS),
    store.keys.revoke(record(1).keyId, NOW_MS),
    store.tenants.find('acme'),
    store.tenants.ensure('acme', NOW_MS),
    store.tenants.ensure('new', NOW_MS),
  ];
  for (const [i, outcome] of (await Promise.allSettled(wishes)).entries()) {
    assert.equal(outcome.status, 'rejected', `wish ${i}`);
    const { code, message } = outcome.reason as { code: string; message: string };
    assert.equal(code, 'SERVICE_UNAVAILABLE');
    assert.match(message, /^Keys and tenants cannot be (read|written) at the moment/);
  }
  assert.ok(store.failures.length > 0);
  await alone.start();
  await store.clock.advance(50);
  assert.deepEqual(await store.keys.findByHash(hash(1)), record(1));
  assert.equal((await store.tenants.ensure('new', NOW_MS)).tenantId, 'new');
});
