// Behaviour with distributed tables, as far as one PostgreSQL can show it: the tables can be distributed, and a node
// that assumes so writes one commit per tenant. tests/citus/ has the claims on a real cluster.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { AuditError } from '@tallystick/contract';
import { prepareLogs, raw, requireOneHistory, startLogNode } from '../../../testing/postgres-nodes.ts';
import { type Databases, openDatabases } from '../../../testing/postgres-server.ts';
import { draftOf, now, once, placedIn, request, STREAMS } from '../../conformance/claims.ts';
import { Database, SCHEMA } from '../connection/database.ts';
import { REFERENCE_TABLES } from './distribute.ts';
import { migrate } from './migrate.ts';
import { COMMON_TABLES, rightsOf, TENANT_TABLES } from './rights.ts';
import { MIGRATIONS } from './schema.ts';
import { byPartitions, byShards } from './partitions.ts';

const TENANTS = ['acme', 'beta', 'gamma'];
const DISTRIBUTED = { isDistributed: true };

let server: Databases;
let url: string;
before(async () => {
  server = await openDatabases();
  url = await server.createDatabase();
  await prepareLogs(url, TENANTS);
});
after(() => server?.[Symbol.asyncDispose]());

describe('the tables', () => {
  test('each is of tenants, and placed by them, or belongs to the installation', async () => {
    const tables = await raw(
      url,
      `SELECT relname FROM pg_class WHERE relnamespace = '${SCHEMA}'::regnamespace AND relkind IN ('r', 'p')
         AND NOT relispartition ORDER BY relname`,
    );
    assert.deepEqual(
      tables.map(({ relname }) => relname),
      [...Object.keys(TENANT_TABLES), ...Object.keys(COMMON_TABLES)].toSorted(),
    );
    for (const table of REFERENCE_TABLES) assert.ok(table in COMMON_TABLES, table);
  });

  test('the first column of every table of tenants, and of its key, is the tenant; none refers to another', async () => {
    const placed = await raw(
      url,
      `SELECT relname, (SELECT attname FROM pg_attribute WHERE attrelid = pg_class.oid AND attnum = 1) AS first,
         (SELECT pg_get_indexdef(indexrelid, 1, true) FROM pg_index WHERE indrelid = pg_class.oid AND indisprimary) AS key
       FROM pg_class WHERE relname = ANY ($1) AND relnamespace = '${SCHEMA}'::regnamespace`,
      [Object.keys(TENANT_TABLES)],
    );
    assert.equal(placed.length, Object.keys(TENANT_TABLES).length);
    for (const { relname, first, key } of placed)
      assert.deepEqual([first, key], ['tenant_id', 'tenant_id'], String(relname));
    assert.deepEqual(await raw(url, `SELECT conname FROM pg_constraint WHERE contype = 'f'`), []);
  });

  test('those that are to be distributed have no partitions by a hash, and no policy asks a question', () => {
    for (const migration of MIGRATIONS)
      assert.doesNotMatch(migration(byShards, false).join(), /PARTITION BY HASH/);
    const policies = (isDistributed: boolean) =>
      rightsOf(SCHEMA, isDistributed).filter((text) => text.startsWith('CREATE POLICY'));
    for (const policy of policies(true)) assert.doesNotMatch(policy.slice(policy.indexOf('USING')), /SELECT/);
    // Control: without distribution they have both.
    assert.ok(
      MIGRATIONS.some((migration) => /PARTITION BY HASH/.test(migration(byPartitions, false).join())),
    );
    assert.ok(policies(false).some((policy) => /USING .*SELECT/.test(policy)));
  });

  test('a database without the extension is refused, and no tables are created in it', async () => {
    await using plain = new Database({ url: await server.createDatabase(), connectionsMax: 1 });
    await assert.rejects(migrate(plain, 'postgres', { distribute: true }), {
      name: 'StartError',
      message: /^Storage__Distribute is set, and the database has no extension citus: /,
    });
    const { rows } = await plain.plainly((client) =>
      client.query(`SELECT 1 FROM pg_namespace WHERE nspname = '${SCHEMA}'`),
    );
    assert.deepEqual(rows, []);
  });
});

/** The transactions that wrote the newest entry of each tenant, its content and its head. */
async function newestWrites(): Promise<string[][]> {
  const rows = await raw(
    url,
    `SELECT ARRAY[entries.xmin::text, contents.xmin::text, heads.xmin::text] AS written
     FROM heads JOIN entries ON entries.tenant_id = heads.tenant_id AND leaf_index = next_index - 1
     JOIN contents ON contents.tenant_id = heads.tenant_id AND contents.leaf_index = entries.leaf_index
     ORDER BY heads.tenant_id`,
  );
  return rows.map(({ written }) => [...new Set(written as string[])]);
}

const poolOfAll = () => TENANTS.map((tenant) => request(tenant, [draftOf()]));

for (const { isDistributed, commits } of [
  { isDistributed: true, commits: TENANTS.length },
  { isDistributed: false, commits: 1 },
]) {
  const where = isDistributed ? 'where tables are distributed' : 'control: in one place';
  test(`${where}, the commits of a pool of three tenants are ${commits}`, async () => {
    await using node = startLogNode(url, STREAMS, { isDistributed });
    for (const result of await node.log.append(poolOfAll(), now())) assert.equal(placedIn(result).length, 1);
    const written = await newestWrites();
    for (const ofTenant of written) assert.equal(ofTenant.length, 1);
    assert.equal(new Set(written.flat()).size, commits);
    for (const tenant of TENANTS) await requireOneHistory(url, tenant);
  });
}

test('keys and ids are recognised, and streams are sealed, as they are in one place', async () => {
  const tenant = 'acme';
  await using node = startLogNode(url, { ...STREAMS, sealAfterEvents: 2 }, DISTRIBUTED);
  const keyed = request(tenant, [draftOf(), draftOf(), draftOf()], { once: once('a-key') });
  const [first] = await node.log.append([keyed], now());
  assert.equal(placedIn(first).length, 3);
  const [again] = await node.log.append([keyed], now());
  assert.equal(again?.status, 'Repeated');
  const before = await node.log.forTenant(tenant).streamCount();
  assert.ok(before > 1, `${before} streams`);
  await requireOneHistory(url, tenant);
});

/** Every write of this tenant fails as if its machine were unavailable. */
async function takeAway(tenant: string): Promise<void> {
  await raw(
    url,
    `CREATE OR REPLACE FUNCTION away() RETURNS trigger LANGUAGE plpgsql AS
     $$ BEGIN RAISE EXCEPTION 'connection to the remote node failed' USING ERRCODE = '08006'; END $$`,
  );
  await raw(
    url,
    `CREATE TRIGGER away_${tenant} BEFORE UPDATE ON heads FOR EACH ROW
     WHEN (old.tenant_id = '${tenant}') EXECUTE FUNCTION away()`,
  );
}

const bringBack = (tenant: string) => raw(url, `DROP TRIGGER away_${tenant} ON heads`);

test('a tenant whose machine is unavailable fails alone, and may retry', async () => {
  const sizes = () =>
    Promise.all(TENANTS.map(async (tenant) => (await requireOneHistory(url, tenant)).length));
  const [acme, beta, gamma] = (await sizes()) as [number, number, number];
  await takeAway('beta');
  await using node = startLogNode(url, STREAMS, DISTRIBUTED);
  const pool = poolOfAll();
  const results = await node.log.append(pool, now());
  assert.deepEqual(
    results.map(({ status }) => status),
    ['Done', 'Faulty', 'Done'],
  );
  const [, fault] = results;
  assert.ok(fault?.status === 'Faulty' && fault.error instanceof AuditError);
  assert.equal(fault.error.code, 'SERVICE_UNAVAILABLE');
  assert.deepEqual(await sizes(), [acme + 1, beta, gamma + 1]);
  // If no machine is available, the state of the whole pool is unknown.
  for (const tenant of ['acme', 'gamma']) await takeAway(tenant);
  await assert.rejects(node.log.append(poolOfAll(), now()), { code: 'SERVICE_UNAVAILABLE' });
  for (const tenant of TENANTS) await bringBack(tenant);
  assert.deepEqual(await sizes(), [acme + 1, beta, gamma + 1]);
  const [later] = await node.log.append([pool[1]!], now());
  assert.equal(placedIn(later).length, 1);
  assert.deepEqual(await sizes(), [acme + 1, beta + 1, gamma + 1]);
});

test('control: in one place the pool fails with it', async () => {
  await takeAway('beta');
  await using node = startLogNode(url);
  await assert.rejects(node.log.append(poolOfAll(), now()), { code: 'SERVICE_UNAVAILABLE' });
  await bringBack('beta');
});
