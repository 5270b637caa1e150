import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { raw } from '../../../testing/postgres-nodes.ts';
import { type Databases, openDatabases } from '../../../testing/postgres-server.ts';
import { Database } from '../connection/database.ts';
import { migrate } from '../schema/migrate.ts';
import { openForVerifying, verifiedState } from '../verified-state.ts';
import { EVIDENCE_COLUMNS, NOT_EVIDENCE } from './columns.ts';
import { columnsOf, EXPECTED, requireSchema } from './schema.ts';

let server: Databases;
let migrated: string;
before(async () => {
  server = await openDatabases();
  migrated = await server.createDatabase();
  await using owner = new Database({ url: migrated, connectionsMax: 1 });
  await migrate(owner, 'postgres');
});
after(() => server?.[Symbol.asyncDispose]());

async function look<T>(url: string, work: (state: Parameters<typeof requireSchema>[0]) => Promise<T>) {
  await using database = await openForVerifying(url, 'Storage__Url');
  await using state = await verifiedState(database);
  return await work(state);
}

describe('the schema of a database', () => {
  it('is the one that the migrations make, column by column', async () => {
    await look(migrated, requireSchema);
    const columns = await look(migrated, columnsOf);
    for (const [table, { columns: expected }] of Object.entries(EXPECTED)) {
      const names = expected.map((column) => `${table}.${column.split(' ')[0]}`);
      assert.deepEqual(
        columns.filter((name) => name.startsWith(`${table}.`)).toSorted(),
        names.toSorted(),
        table,
      );
    }
  });

  it('is evidence, or is named with the reason why it is not: every table and column', async () => {
    const named = Object.keys(NOT_EVIDENCE);
    const columns = await look(migrated, columnsOf);
    const homeless = columns.filter((name) => {
      const [table, column] = name.split('.') as [string, string];
      return (
        EVIDENCE_COLUMNS[table]?.[column] === undefined && !named.includes(table) && !named.includes(name)
      );
    });
    assert.deepEqual(homeless, []);
    const known = new Set([...columns, ...columns.map((name) => name.split('.')[0]!)]);
    assert.deepEqual(
      named.filter((name) => !name.includes(' ') && !known.has(name)),
      [],
    );
    assert.deepEqual(Object.keys(EVIDENCE_COLUMNS).toSorted(), Object.keys(EXPECTED).toSorted());
  });

  const CHANGES: readonly (readonly [title: string, sql: string, said: RegExp])[] = [
    ['a table that is gone', 'DROP TABLE epochs', /no table epochs/],
    [
      'a column of another type',
      'ALTER TABLE streams ALTER first_index TYPE numeric',
      /streams has no column/,
    ],
    ['a value that may be missing', 'ALTER TABLE entries ALTER leaf DROP NOT NULL', /entries has no column/],
    [
      'a key that is gone',
      'ALTER TABLE checkpoints DROP CONSTRAINT checkpoints_pkey',
      /nothing keeps tenant_id, epoch/,
    ],
    [
      'an index against forks that is gone',
      'DROP INDEX entries_by_previous',
      /nothing keeps tenant_id, SUBSTRING/,
    ],
    [
      'an id that is not made of the entry any more',
      'ALTER TABLE entries ALTER event_id DROP EXPRESSION',
      /entries has no column as it should be: event_id/,
    ],
    [
      'a table that has become a view',
      'ALTER TABLE checkpoints RENAME TO hidden; CREATE VIEW checkpoints AS SELECT * FROM hidden',
      /no table checkpoints/,
    ],
    [
      'a trigger',
      `CREATE FUNCTION change() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
       CREATE TRIGGER quiet BEFORE INSERT ON entries FOR EACH ROW EXECUTE FUNCTION change()`,
      /trigger quiet on entries/,
    ],
    [
      'a rule of a partition',
      'CREATE RULE quiet AS ON DELETE TO contents_0 DO INSTEAD NOTHING',
      /rule quiet on contents_0/,
    ],
    [
      'a policy that hides a row from those who read, and not from those who verify',
      'CREATE POLICY quiet ON entries AS RESTRICTIVE FOR SELECT TO tallystick_reader USING (leaf_index <> 1)',
      /policy quiet on entries/,
    ],
    [
      'an index that has become a view',
      'ALTER TABLE index_blocks RENAME TO hidden; CREATE VIEW index_blocks AS SELECT * FROM hidden',
      /no table index_blocks/,
    ],
  ];
  for (const [title, sql, said] of CHANGES) {
    it(`is not that one with ${title}`, async () => {
      const url = await server.createDatabase(migrated);
      await raw(url, sql);
      await assert.rejects(look(url, requireSchema), said);
    });
  }
});
