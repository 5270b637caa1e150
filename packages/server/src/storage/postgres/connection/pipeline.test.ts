// Transactions in a pipeline: each is durable or not by itself, independent of its neighbours.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Client } from 'pg';
import { type Databases, openDatabases } from '../../../testing/postgres-server.ts';
import { ALL_TENANTS, Database, type DatabaseScope, SCHEMA, statement } from './database.ts';
import { Pipeline } from './pipeline.ts';
import { migrate } from '../schema/migrate.ts';

const WRITER: DatabaseScope = { role: 'Writer', tenants: [] };
const PUT = statement(
  `INSERT INTO meta (name, value) SELECT $1::text, count(*) FROM meta WHERE name LIKE 'line %' RETURNING value`,
);
const PUT_AND_WARN = statement(
  `INSERT INTO meta (name, value) SELECT $1::text, '' FROM warn_about_it() RETURNING value`,
);
const SLEEP = statement('SELECT pg_sleep(30), $1::text');
const NAMES = statement("SELECT name FROM meta WHERE name LIKE 'line %' ORDER BY name");

let server: Databases;
let database: Database;
let outside: Client;
before(async () => {
  server = await openDatabases();
  const url = await server.createDatabase();
  {
    await using owner = new Database({ url, connectionsMax: 1 });
    await migrate(owner, 'postgres');
  }
  outside = new Client({ connectionString: url });
  await outside.connect();
  await outside.query(
    `CREATE FUNCTION ${SCHEMA}.warn_about_it() RETURNS integer LANGUAGE plpgsql
     AS $$ BEGIN RAISE WARNING 'not everywhere yet'; RETURN 1; END $$`,
  );
  // One connection: a transaction that waits for another would wait forever.
  database = new Database({ url, connectionsMax: 1, connectMsMax: 2000 });
});
after(async () => {
  await outside?.end();
  await database?.[Symbol.asyncDispose]();
  await server?.[Symbol.asyncDispose]();
});

async function stored(): Promise<unknown[]> {
  return (await database.read(ALL_TENANTS, NAMES)).map(({ name }) => name);
}

async function emptied(): Promise<Pipeline> {
  await outside.query(`DELETE FROM ${SCHEMA}.meta WHERE name LIKE 'line %'`);
  return new Pipeline(database);
}

test('each sees what those before it have stored, and none waits for an answer', async () => {
  const pipeline = await emptied();
  const put = ['line a', 'line b', 'line c'].map((name) => pipeline.commit(WRITER, PUT, [name]));
  assert.deepEqual(await Promise.all(put), [[{ value: '0' }], [{ value: '1' }], [{ value: '2' }]]);
  await pipeline.idle();
  // The connection is free again.
  assert.deepEqual(await stored(), ['line a', 'line b', 'line c']);
  assert.deepEqual(await pipeline.commit(WRITER, PUT, ['line d']), [{ value: '3' }]);
});

test('a refused transaction stores nothing, the others store everything', async () => {
  const pipeline = await emptied();
  const put = ['line a', 'line a', 'line b'].map((name) => pipeline.commit(WRITER, PUT, [name]));
  const outcomes = await Promise.allSettled(put);
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  );
  assert.equal((outcomes[1] as PromiseRejectedResult).reason.code, '23505');
  await pipeline.idle();
  assert.deepEqual(await stored(), ['line a', 'line b']);
});

test('after a warning, no transaction under way counts as durable', async () => {
  const pipeline = await emptied();
  const put = [pipeline.commit(WRITER, PUT_AND_WARN, ['line a']), pipeline.commit(WRITER, PUT, ['line b'])];
  for (const { status } of await Promise.allSettled(put)) assert.equal(status, 'rejected');
  await pipeline.idle();
  assert.deepEqual(
    await pipeline.commit(WRITER, PUT, ['line c']),
    [{ value: '2' }],
    'both are stored nevertheless',
  );
});

test('when the connection breaks, all transactions under way fail, and the next one gets a new connection', async () => {
  const pipeline = await emptied();
  const asked = [pipeline.commit(WRITER, SLEEP, ['']), pipeline.commit(WRITER, PUT, ['line a'])];
  const outcomes = Promise.allSettled(asked);
  const find = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep%'`;
  while ((await outside.query(find)).rowCount === 0);
  for (const outcome of await outcomes) {
    assert.equal(outcome.status, 'rejected');
    assert.equal(outcome.reason.code, 'SERVICE_UNAVAILABLE');
  }
  await pipeline.idle();
  assert.deepEqual(await stored(), []);
  assert.deepEqual(await pipeline.commit(WRITER, PUT, ['line b']), [{ value: '0' }]);
});

test('without a connection, all waiting transactions fail', async () => {
  const pipeline = await emptied();
  await database.plainly(async () => {
    const asked = [pipeline.commit(WRITER, PUT, ['line a']), pipeline.commit(WRITER, PUT, ['line b'])];
    for (const outcome of await Promise.allSettled(asked)) {
      assert.equal(outcome.status, 'rejected');
      assert.equal(outcome.reason.code, 'SERVICE_UNAVAILABLE');
    }
  });
  await pipeline.idle();
  assert.deepEqual(await stored(), []);
});
