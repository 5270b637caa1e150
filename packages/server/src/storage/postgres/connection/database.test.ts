import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Databases, openDatabases } from '../../../testing/postgres-server.ts';
import { ALL_TENANTS, Database, statement, type Value } from './database.ts';
import { migrate } from '../schema/migrate.ts';

let server: Databases;
let database: Database;
before(async () => {
  server = await openDatabases();
  database = new Database({ url: await server.createDatabase(), connectionsMax: 2 });
  await migrate(database, 'postgres');
});
after(async () => {
  await database?.[Symbol.asyncDispose]();
  await server?.[Symbol.asyncDispose]();
});

test('values come back unchanged, every byte and every number', async () => {
  const echo = async (type: string, value: Value) =>
    (await database.read(ALL_TENANTS, statement(`SELECT $1::${type} AS it`), [value]))[0]?.['it'];
  const bytes = Uint8Array.from({ length: 512 }, (_, i) => i);
  assert.deepEqual(await echo('bytea', bytes), bytes);
  assert.deepEqual(await echo('bytea', bytes.subarray(200, 232)), bytes.slice(200, 232));
  assert.deepEqual(await echo('bytea', new Uint8Array()), new Uint8Array());
  for (const number of [0, 1, -1, 127, 128, 255, 256, 1_800_000_000_000, -1_800_000_000_000])
    assert.equal(await echo('bigint', number), number);
  assert.equal(await echo('bigint', Number.MAX_SAFE_INTEGER), Number.MAX_SAFE_INTEGER);
  assert.equal(await echo('bigint', 2n ** 63n - 1n), 2n ** 63n - 1n);
  assert.equal(await echo('integer', -2_147_483_648), -2_147_483_648);
  assert.equal(await echo('smallint', 200), 200);
  assert.equal(await echo('double precision', 0.1), 0.1);
  assert.equal(await echo('double precision', 1e300), 1e300);
  assert.equal(await echo('boolean', true), true);
  assert.equal(await echo('boolean', false), false);
  assert.equal(await echo('text', 'Grüße, 世界 🦉'), 'Grüße, 世界 🦉');
  assert.equal(await echo('text', null), null);
});

test('bytes in lists arrive unchanged', async () => {
  const lists = statement('SELECT id, key FROM unnest($1::text[], $2::bytea[]) AS t (id, key)');
  const keys = [Uint8Array.of(0, 92, 34, 255, 128), Uint8Array.of(44, 123, 125)];
  assert.deepEqual(await database.read(ALL_TENANTS, lists, [['a"b', '{c,\\d}'], keys]), [
    { id: 'a"b', key: keys[0] },
    { id: '{c,\\d}', key: keys[1] },
  ]);
});

test('settings of the database do not affect the service', async () => {
  const url = await server.createDatabase();
  const name = new URL(url).pathname.slice(1);
  const set = [
    "bytea_output = 'escape'",
    'array_nulls = off',
    'row_security = off',
    'default_transaction_read_only = on',
  ];
  await database.plainly(async (client) => {
    for (const setting of set) await client.query(`ALTER DATABASE ${name} SET ${setting}`);
  });
  await using other = new Database({ url, connectionsMax: 1 });
  await migrate(other, 'postgres');
  const asked = statement(
    'SELECT $1::bytea AS bytes, ($2::text[])[1] AS none FROM heads RIGHT JOIN (SELECT 1) AS one ON true',
  );
  const bytes = Uint8Array.of(0, 92, 120, 255);
  const scope = { role: 'Writer', tenants: ['acme'] } as const;
  assert.deepEqual(await other.inTransaction(scope, (t) => t.query(asked, [bytes, [null]])), [
    { bytes, none: null },
  ]);
});

test('a table that gains a column fails a connection that has read it once, but only once', async () => {
  await using other = new Database({ url: await server.createDatabase(), connectionsMax: 1 });
  await migrate(other, 'postgres');
  const asked = statement('SELECT * FROM index_manifests');
  await other.read(ALL_TENANTS, asked);
  await other.plainly((client) => client.query('ALTER TABLE index_manifests ADD COLUMN more integer'));
  await assert.rejects(other.read(ALL_TENANTS, asked));
  assert.deepEqual(await other.read(ALL_TENANTS, asked), []);
});

test('options of the URL are used, and do not replace others', async () => {
  const url = `${await server.createDatabase()}?options=-c%20work_mem%3D5MB%20-c%20search_path%3Dpublic`;
  await using other = new Database({ url, connectionsMax: 1 });
  await migrate(other, 'postgres');
  const asked = statement("SELECT current_setting('work_mem') AS memory, count(*) AS heads FROM heads");
  assert.deepEqual(await other.read(ALL_TENANTS, asked), [{ memory: '5MB', heads: 0 }]);
});

test('in a deadlock one transaction is told to retry, and the other continues', async () => {
  const lock = statement('SELECT pg_advisory_xact_lock($1)');
  const scope = { role: 'Writer', tenants: [] } as const;
  const [hasFirst, hasSecond] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const work = (locks: readonly [number, number], mine: () => void, other: Promise<void>) =>
    database.inTransaction(scope, async (transaction) => {
      await transaction.query(lock, [locks[0]]);
      mine();
      await other;
      await transaction.query(lock, [locks[1]]);
    });
  const outcomes = await Promise.allSettled([
    work([1, 2], hasFirst.resolve, hasSecond.promise),
    work([2, 1], hasSecond.resolve, hasFirst.promise),
  ]);
  const codes = outcomes.map((each) =>
    each.status === 'rejected' ? (each.reason as { code: string }).code : 'Done',
  );
  assert.deepEqual(codes.toSorted(), ['Done', 'SERVICE_UNAVAILABLE']);
});
