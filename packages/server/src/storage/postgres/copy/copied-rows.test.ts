// Everything is copied: every table and every column of both databases, or the reason why not is listed.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { DatabaseSync } from 'node:sqlite';
import { raw } from '../../../testing/postgres-nodes.ts';
import { type Databases, openDatabases } from '../../../testing/postgres-server.ts';
import { COPIED_TABLES, type CopiedTable, keyIn, portionsOf } from '../../rows/copied-tables.ts';
import { MIGRATIONS } from '../../sqlite/connection/schema.ts';
import { asHere, columnsHere, CopiedRows } from './copied-rows.ts';
import { Database, SCHEMA } from '../connection/database.ts';
import { migrate } from '../schema/migrate.ts';
import { COMMON_TABLES } from '../schema/rights.ts';

let server: Databases;
let url: string;
let database: Database;
before(async () => {
  server = await openDatabases();
  url = await server.createDatabase();
  database = new Database({ url, connectionsMax: 1 });
  await migrate(database, 'postgres');
});
after(async () => {
  await database?.[Symbol.asyncDispose]();
  await server?.[Symbol.asyncDispose]();
});

/** Tables that are not copied: derived from the log, work under way, or facts about the serving nodes. */
const NOT_COPIED = [
  'index_manifests',
  'index_blocks',
  'jobs',
  'lanes',
  'positions',
  'violations',
  'windows',
  ...Object.keys(COMMON_TABLES),
  'refused_logs',
  // From before there were records: a store that has any is not copied.
  'api_keys',
];

const table = (name: string): CopiedTable => COPIED_TABLES.find((each) => each.name === name)!;

describe('what is copied', () => {
  test('is every column of every table here that no follower makes', async () => {
    const rows = await raw(
      url,
      `SELECT c.relname AS table, a.attname AS column FROM pg_class AS c
       JOIN pg_namespace AS n ON n.oid = c.relnamespace JOIN pg_attribute AS a ON a.attrelid = c.oid
       WHERE n.nspname = '${SCHEMA}' AND c.relkind IN ('r', 'p') AND NOT c.relispartition
         AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''`,
    );
    const found = Object.groupBy(rows, (row) => String(row['table']));
    assert.deepEqual(
      Object.keys(found).toSorted(),
      [...COPIED_TABLES.map(({ name }) => name), ...NOT_COPIED].toSorted(),
    );
    for (const copied of COPIED_TABLES)
      assert.deepEqual(
        found[copied.name]!.map((row) => String(row['column'])).toSorted(),
        Object.keys(columnsHere(copied)).toSorted(),
        copied.name,
      );
  });

  test('is every column of every table of the embedded store, but for the numbers that it gives itself', () => {
    using db = new DatabaseSync(':memory:');
    for (const migration of MIGRATIONS) db.exec(migration);
    const columns = db
      .prepare(
        `SELECT t.name || '.' || c.name AS name FROM sqlite_schema AS t, pragma_table_xinfo(t.name) AS c
         WHERE t.type = 'table' AND c.hidden = 0`,
      )
      .all()
      .map((row) => String(row['name']));
    const copied = new Set(
      COPIED_TABLES.flatMap(({ name, columns: own }) =>
        Object.keys(own).map((column) => `${name}.${column}`),
      ),
    );
    // Recent keys are copied with the others.
    const left = columns.filter(
      (name) => !copied.has(name) && !/\.(tenant|id)$/.test(name) && !/^(api|recent)_keys\./.test(name),
    );
    // The rows of `meta` are facts about the installation, which are copied by name, and a count of probes. Jobs are not copied.
    assert.deepEqual(left, ['meta.name', 'meta.value', 'outbox.job_id', 'outbox.job']);
  });

  test('comes back unchanged, with unusual texts and bytes, and after any key', async () => {
    const rows = new CopiedRows(database);
    const usedKeys = table('used_keys');
    const copied = ['', 'a,b', '{"x"}', "it's", '\\', 'NULL', 'ä🦉', '\n'].map((key, i) => ({
      tenant_id: 'acme',
      operation: 'events.ingest',
      key,
      fingerprint: new Uint8Array(i).fill(255),
      classification: i % 4,
      expires_at_ms: 2 ** 53 - 1 - i,
      note: key.repeat(3),
      outcomes: Uint8Array.of(0, 92, 120, 39, 255),
    }));
    const sorted = copied.toSorted((a, b) => Buffer.compare(Buffer.from(a.key), Buffer.from(b.key)));
    await rows.put(usedKeys, sorted.slice(0, 3));
    assert.deepEqual(await rows.lastKey(usedKeys), keyIn(usedKeys, sorted[2]!));
    await rows.put(usedKeys, sorted.slice(3));
    const last = keyIn(usedKeys, sorted.at(-1)!);
    assert.deepEqual(await rows.between(usedKeys, undefined, last, 100), sorted);
    assert.deepEqual(
      await rows.between(usedKeys, keyIn(usedKeys, sorted[1]!), keyIn(usedKeys, sorted[4]!), 100),
      sorted.slice(2, 5),
    );
    assert.deepEqual(await rows.between(usedKeys, last, undefined, 1), []);
    await assert.rejects(rows.put(usedKeys, sorted.slice(0, 1)), /duplicate key/);
  });

  test('keeps null apart from what is empty, and content in the month in which it expires', async () => {
    const rows = new CopiedRows(database);
    const contents = table('contents');
    const copied = [null, Date.UTC(2033, 10, 16), Date.UTC(9999, 11, 31)].map((expiresAtMs, i) => ({
      tenant_id: 'acme',
      leaf_index: i,
      text1: new Uint8Array(0),
      text2: Uint8Array.of(i),
      seeds: new Uint8Array(32).fill(i),
      key_id: null,
      sent_fingerprint: i === 1 ? new Uint8Array(32) : null,
      expires_at_ms: expiresAtMs,
      decision: i === 2 ? 2 ** 48 - 1 : null,
      closed: i === 0 ? Uint8Array.of(7) : null,
    }));
    await rows.put(contents, copied);
    const found = await rows.between(contents, undefined, undefined, 10);
    assert.deepEqual(
      found,
      copied.map((row) => asHere(contents, row)),
    );
    assert.deepEqual(
      found.map((row) => row['content_month']),
      [0, (2033 - 1970) * 12 + 11, (9999 - 1970) * 12 + 12],
    );
  });
});

test('a portion ends by the number of its rows or by their bytes, and none is left out', () => {
  const small = Array.from({ length: 4500 }, (_, i) => ({ i }));
  assert.deepEqual(
    [...portionsOf(small)].map(({ length }) => length),
    [2000, 2000, 500],
  );
  const large = Array.from({ length: 5 }, () => ({ bytes: new Uint8Array(3_000_000) }));
  assert.deepEqual(
    [...portionsOf(large)].map(({ length }) => length),
    [2, 2, 1],
  );
});
