// Records and tenants of several nodes on one database, beyond the common claims.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { systemClock } from '../../../runtime/clock.ts';
import { createSystemRandom } from '../../../runtime/random.ts';
import { raw } from '../../../testing/postgres-nodes.ts';
import { PATIENT_LIMITS, type PostgresServer, startPostgres } from '../../../testing/postgres-server.ts';
import { append, now, NOW_MS, STREAMS } from '../../conformance/claims.ts';
import { changeOf, nextVersion, recordOf } from '../../conformance/records.ts';
import { ALL_TENANTS, Database, statement } from '../connection/database.ts';
import { migrate } from '../schema/migrate.ts';
import { openPostgresStorage } from '../postgres-storage.ts';

const random = createSystemRandom();

let server: PostgresServer;
let migrated: string;
before(async () => {
  server = await startPostgres();
  migrated = await server.createDatabase();
  await using owner = new Database({ url: migrated, connectionsMax: 1 });
  await migrate(owner, 'postgres');
});
after(() => server?.[Symbol.asyncDispose]());

/** A node with its own connections, on a new database or on this one. */
async function node(at?: string) {
  const url = at ?? (await server.createDatabase(migrated));
  const failures: unknown[] = [];
  const storage = await openPostgresStorage({
    url,
    logOrigin: 'audit.example.com',
    streams: STREAMS,
    clock: systemClock,
    random,
    mayMigrate: false,
    onFailure: (error) => void failures.push(error),
    onTrouble: () => {},
  });
  return { url, failures, ...storage, [Symbol.asyncDispose]: () => storage[Symbol.asyncDispose]() };
}

/** The number of commits that created tenants. */
async function commitsOf(url: string): Promise<unknown> {
  const [row] = await raw(url, 'SELECT count(DISTINCT xmin::text)::integer AS count FROM tenants');
  return row?.['count'];
}

test('the bearer of a key sees only the record of that key', async () => {
  await using store = await node();
  await store.tenants.ensure('acme', NOW_MS);
  const lookup = (n: number) => new Uint8Array(32).fill(n);
  const [one, two] = [1, 2].map((n) => recordOf('acme', { lookup: lookup(n) }));
  await append(store, changeOf([one!, two!, recordOf('acme')]));
  await using database = new Database({ url: store.url, connectionsMax: 1, ...PATIENT_LIMITS });
  const all = statement('SELECT id FROM records');
  const shown = await database.read({ role: 'Reader', keyHash: lookup(1) }, all);
  assert.deepEqual(
    shown.map((row) => row['id']),
    [one!.id],
  );
  assert.equal((await database.read(ALL_TENANTS, all)).length, 3);
  assert.deepEqual(await database.read({ role: 'Reader', tenants: ['other'] }, all), []);
});

test('changes of another node are seen, and so is the version of all records', async () => {
  await using one = await node();
  await using two = await node(one.url);
  await one.tenants.ensure('acme', NOW_MS);
  const made = recordOf('acme');
  const versions = [await two.records.version()];
  await append(one, changeOf([made]));
  versions.push(await two.records.version());
  await append(two, changeOf([nextVersion(made)]));
  versions.push(await one.records.version());
  assert.equal(await two.records.version(), versions.at(-1));
  assert.equal(new Set(versions).size, 3);
  assert.deepEqual(await one.records.byId('ApiKey', made.id), [nextVersion(made)]);
});

test('of several nodes that change a record or take a name at once, one does', async () => {
  await using one = await node();
  await using two = await node(one.url);
  await one.tenants.ensure('acme', NOW_MS);
  let held = recordOf('acme');
  await append(one, changeOf([held]));
  for (let round = 0; round < 10; round++) {
    const next = nextVersion(held);
    const changed = await Promise.all([one, two, one, two].map((each) => append(each, changeOf([next]))));
    assert.deepEqual(changed.map(({ status }) => status).toSorted(), ['Done', 'Stale', 'Stale', 'Stale']);
    held = next;
    const named = await Promise.all(
      [one, two].map((each) => append(each, changeOf([recordOf('acme', { uniqueName: `n${round}` })]))),
    );
    assert.deepEqual(named.map(({ status }) => status).toSorted(), ['Done', 'NameTaken']);
  }
  assert.equal(await one.records.forOwner('acme').count('ApiKey'), 11);
});

test('nodes that change records of many tenants, in any order, do not deadlock', async () => {
  await using one = await node();
  await using two = await node(one.url);
  const owners = Array.from({ length: 20 }, (_, i) => `t${i}`);
  for (const owner of owners) await one.tenants.ensure(owner, NOW_MS);
  for (let round = 0; round < 5; round++) {
    const results = await Promise.all([
      one.log.append(
        owners.map((owner) => changeOf([recordOf(owner)])),
        now(),
      ),
      two.log.append(
        owners.toReversed().map((owner) => changeOf([recordOf(owner)])),
        now(),
      ),
    ]);
    assert.deepEqual(new Set(results.flat().map(({ status }) => status)), new Set(['Done']));
  }
  assert.equal((await one.records.all('ApiKey')).length, 200);
});

test('a new tenant has the head of its log', async () => {
  await using store = await node();
  for (const tenant of ['acme', 'other', 'acme']) await store.tenants.ensure(tenant, NOW_MS);
  assert.deepEqual(await raw(store.url, 'SELECT tenant_id, next_index, leaf FROM heads ORDER BY 1'), [
    { tenant_id: 'acme', next_index: '0', leaf: null },
    { tenant_id: 'other', next_index: '0', leaf: null },
  ]);
});

test('tenants that are created concurrently share a commit', async () => {
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
  const [heads] = await raw(one.url, 'SELECT count(*)::integer AS n FROM heads');
  assert.equal(heads?.['n'], ids.length);
});

function hashOf(text: string): number {
  return [...text].reduce((sum, character) => (sum * 31 + character.charCodeAt(0)) % 1009, 7);
}

test('a failed commit fails the calls that waited for it, and no later ones', async () => {
  await using store = await node();
  await raw(store.url, 'ALTER TABLE tenants ADD CONSTRAINT no CHECK (false) NOT VALID');
  const asked = ['a', 'b'].map((id) => store.tenants.ensure(id, NOW_MS));
  for (const each of asked) await assert.rejects(each, { code: 'SERVICE_UNAVAILABLE' });
  assert.ok(store.failures.length > 0);
  await raw(store.url, 'ALTER TABLE tenants DROP CONSTRAINT no');
  assert.equal((await store.tenants.ensure('a', NOW_MS)).tenantId, 'a');
});

test('while the database cannot be reached nothing is read or created, and afterwards everything is unchanged', async () => {
  await using alone = await startPostgres();
  const url = await alone.createDatabase();
  {
    await using owner = new Database({ url, connectionsMax: 1 });
    await migrate(owner, 'postgres');
  }
  await using store = await node(url);
  await store.tenants.ensure('acme', NOW_MS);
  const made = recordOf('acme', { lookup: new Uint8Array(32).fill(1) });
  await append(store, changeOf([made]));
  await alone.kill();
  const attempts = [
    store.records.version(),
    store.records.byLookup('ApiKey', made.lookup!),
    store.records.byId('ApiKey', made.id),
    store.records.forOwner('acme').list('ApiKey'),
    store.tenants.find('acme'),
    store.tenants.ensure('acme', NOW_MS),
    store.tenants.ensure('new', NOW_MS),
  ];
  for (const [i, outcome] of (await Promise.allSettled(attempts)).entries()) {
    assert.equal(outcome.status, 'rejected', `attempt ${i}`);
    const { code, message } = outcome.reason as { code: string; message: string };
    assert.equal(code, 'SERVICE_UNAVAILABLE');
    assert.match(message, /^Keys and tenants cannot be (read|written) at the moment/);
  }
  assert.ok(store.failures.length > 0);
  await alone.start();
  assert.deepEqual(await store.records.byLookup('ApiKey', made.lookup!), [made]);
  assert.equal((await store.tenants.ensure('new', NOW_MS)).tenantId, 'new');
});
