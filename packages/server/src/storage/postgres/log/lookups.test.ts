// Lookups do not scan the log. With row-level security an index is used only for leakproof conditions: a compared
// column, but not a substring of one.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { PATIENT_LIMITS, type Databases, openDatabases } from '../../../testing/postgres-server.ts';
import { ALL_TENANTS, Database, type DatabaseScope, statement } from '../connection/database.ts';
import { LogEvents } from '../event-index/log-events.ts';
import { readsIn } from '../event-index/tenant-reads.ts';
import { holdsAsOf, holdsAsOfIn } from '../../rows/hold-notices.ts';
import { Heads } from '../append/heads.ts';
import { ENTRIES_WITH_CONTENTS, EVENT_ID } from './log-columns.ts';
import { HOLD_NOTICES } from './log-tables.ts';
import { migrate } from '../schema/migrate.ts';

const ENTRIES = 20_000;
const SMALL_LOGS = 1000;

const SOME_IDS = statement(
  'SELECT substring(entry from 37 for 16) AS id FROM entries WHERE leaf_index % 4000 = 1 ORDER BY leaf_index',
);

let server: Databases;
let database: Database;
let ids: Uint8Array[];
before(async () => {
  server = await openDatabases();
  const url = await server.createDatabase();
  // A separate connection: the counts below are per connection.
  await using owner = new Database({ url, connectionsMax: 1, ...PATIENT_LIMITS });
  await migrate(owner, 'postgres');
  const noise = Array.from({ length: 8 }, (_, i) => `md5(i || ' ${i}')`).join(' || ');
  await owner.plainly(async (client) => {
    await client.query(
      `INSERT INTO entries (tenant_id, leaf_index, classification, content_month, entry, leaf, root1, root2)
       SELECT 'acme', i, 1, 0, overlay(substring(decode(${noise}, 'hex') from 1 for 116) placing
         CASE WHEN i % 4000 = 1 THEN '\\x05'::bytea ELSE '\\x01'::bytea END from 17), '', '', ''
       FROM generate_series(0, ${ENTRIES - 1}) AS i`,
    );
    await client.query(
      `INSERT INTO contents (tenant_id, leaf_index, content_month, text1, text2, seeds)
       SELECT tenant_id, leaf_index, content_month, '', '', '' FROM entries`,
    );
    // Other tenants with one entry each.
    await client.query(
      `INSERT INTO entries (tenant_id, leaf_index, classification, content_month, entry, leaf, root1, root2)
       SELECT 'small-' || i, 0, 1, 0, substring(decode(${noise}, 'hex') from 1 for 116), '', '', ''
       FROM generate_series(1, ${SMALL_LOGS}) AS i`,
    );
    await client.query(
      `INSERT INTO heads (tenant_id, next_index) SELECT tenant_id, max(leaf_index) + 1 FROM entries GROUP BY tenant_id`,
    );
    await client.query(
      `INSERT INTO streams (tenant_id, first_index, stream_id, created_at_ms) SELECT tenant_id, 0, 'first', 0 FROM heads`,
    );
    await client.query('ANALYZE');
  });
  ids = (await owner.read(ALL_TENANTS, SOME_IDS)).map(({ id }) => id as Uint8Array);
  database = new Database({ url, connectionsMax: 1 });
});
after(async () => {
  await database?.[Symbol.asyncDispose]();
  await server?.[Symbol.asyncDispose]();
});

const ONE = statement(`SELECT leaf_index FROM entries WHERE tenant_id = $1 AND ${EVENT_ID} = $2`);
const SEVERAL = statement(
  `SELECT leaf_index FROM unnest($1::text[], $2::bytea[]) AS asked (tenant_id, event_id)
   JOIN entries ON entries.tenant_id = asked.tenant_id AND ${EVENT_ID} = asked.event_id ORDER BY leaf_index`,
);
const PAGE = statement(
  `SELECT entries.leaf_index, text1 FROM ${ENTRIES_WITH_CONTENTS}
   WHERE entries.tenant_id = $1 AND entries.leaf_index >= $2 AND entries.leaf_index < $3
   ORDER BY entries.leaf_index LIMIT $4`,
);
const HOLDS_AS_OF = statement(holdsAsOf('entries.tenant_id = $1', 'PostgreSQL'));
const LOOKED_AT = statement(
  `SELECT coalesce(sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0)), 0)::integer AS rows
   FROM pg_stat_xact_all_tables WHERE relname LIKE 'entries%' OR relname LIKE 'contents%'`,
);

test('an id leads to its entry, for reads and for appends', async () => {
  assert.equal(ids.length, 5);
  const scopes: DatabaseScope[] = [
    { role: 'Reader', tenants: ['acme'] },
    { role: 'Writer', tenants: ['acme', 'beta'] },
    ALL_TENANTS,
  ];
  for (const scope of scopes) {
    await database.inTransaction(scope, async (transaction) => {
      const [row] = await transaction.query(ONE, ['acme', ids[3]!]);
      assert.equal(row?.['leaf_index'], 12_001);
      const rows = await transaction.query(SEVERAL, [ids.map(() => 'acme'), ids]);
      assert.deepEqual(
        rows.map(({ leaf_index: index }) => index),
        [1, 4001, 8001, 12_001, 16_001],
      );
      const [looked] = await transaction.query(LOOKED_AT);
      assert.ok(Number(looked?.['rows']) < 50, `${scope.role} looks at ${Number(looked?.['rows'])} rows`);
    });
  }
});

test('the notices that tell of holds are found without a look at other entries', async () => {
  const scopes: DatabaseScope[] = [
    { role: 'Reader', tenants: ['acme'] },
    { role: 'Writer', tenants: ['acme', 'small-7'] },
    ALL_TENANTS,
  ];
  for (const scope of scopes) {
    // Often enough that the database keeps one plan.
    for (let turn = 0; turn < 8; turn++) {
      await database.inTransaction(scope, async (transaction) => {
        const [before] = await transaction.query(LOOKED_AT);
        const [row] = await transaction.query(HOLDS_AS_OF, ['acme']);
        assert.equal(holdsAsOfIn(row), '16001');
        const rows = await transaction.query(HOLD_NOTICES, ['acme', 4001, 100]);
        assert.equal(rows.length, 4);
        const [after] = await transaction.query(LOOKED_AT);
        const looked = Number(after?.['rows']) - Number(before?.['rows']);
        assert.ok(looked < 30, `${scope.role} looks at ${looked} rows`);
      });
    }
  }
});

test('heads of logs are read by their newest entries and no others', async () => {
  const tenants = ['acme', ...Array.from({ length: 60 }, (_, i) => `small-${10 * i + 1}`)];
  for (let turn = 0; turn < 8; turn++) {
    await database.inTransaction({ role: 'Writer', tenants }, async (transaction) => {
      const [before] = await transaction.query(LOOKED_AT);
      // Their contents are noise, so none of these logs can be continued.
      const { faults } = await new Heads('lookups.test').lock(transaction, tenants);
      assert.equal(faults.length, tenants.length);
      const [after] = await transaction.query(LOOKED_AT);
      const looked = Number(after?.['rows']) - Number(before?.['rows']);
      // A small table is scanned.
      assert.ok(looked < ENTRIES / 2, `${looked} rows are looked at`);
    });
  }
});

test('a portion of a log is read for the index without a look at the rest', async () => {
  // Often enough that the database keeps one plan.
  for (let turn = 0; turn < 8; turn++) {
    await database.inTransaction(ALL_TENANTS, async (transaction) => {
      const [before] = await transaction.query(LOOKED_AT);
      const events = await new LogEvents(readsIn(transaction)).between('acme', 15_000, 15_300, 1e9);
      assert.deepEqual([events.length, events.at(-1)?.index], [300, 15_299]);
      const [after] = await transaction.query(LOOKED_AT);
      const looked = Number(after?.['rows']) - Number(before?.['rows']);
      assert.ok(looked <= 1000, `${looked} rows are looked at`);
    });
  }
});

test('a page of events is read with their contents, wherever in the log it is', async () => {
  // Often enough that the database keeps one plan.
  for (let turn = 0; turn < 8; turn++) {
    await database.inTransaction({ role: 'Reader', tenants: ['acme'] }, async (transaction) => {
      const [before] = await transaction.query(LOOKED_AT);
      const rows = await transaction.query(PAGE, ['acme', 15_000, ENTRIES, 100]);
      assert.equal(rows.length, 100);
      const [after] = await transaction.query(LOOKED_AT);
      const looked = Number(after?.['rows']) - Number(before?.['rows']);
      assert.ok(looked <= 300, `${looked} rows are looked at`);
    });
  }
});
