// Stored requests are answered even if others of their pool fail.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Client } from 'pg';
import { until } from '../../../testing/until.ts';
import { SCHEMA } from '../connection/database.ts';
import { TestTables } from '../testing/test-tables.ts';
import { newWriter, NOW, requestOf } from '../testing/plain-writer.ts';

let logs: TestTables;
before(async () => {
  logs = await TestTables.open();
});
after(() => logs?.[Symbol.asyncDispose]());

async function entriesOf(tenant: string): Promise<number> {
  const rows = await logs.raw('SELECT 1 FROM entries WHERE tenant_id = $1', [tenant]);
  return rows.length;
}

/** Locks a log. */
async function hold(tenant: string): Promise<Client> {
  const client = new Client({ connectionString: logs.url });
  await client.connect();
  await client.query('BEGIN');
  await client.query(`SELECT 1 FROM ${SCHEMA}.heads WHERE tenant_id = $1 FOR UPDATE`, [tenant]);
  return client;
}

test('a log that had to be waited for, when the database then fails for another one', async () => {
  const [free, first, second] = (await logs.newTenants(3)) as [string, string, string];
  const [firstHolder, secondHolder] = [await hold(first), await hold(second)];
  let isToldOfFree = false;
  const appended = newWriter(logs.database).append(
    [free, first, second].map((each) => requestOf(each)),
    NOW,
    (decided) => {
      isToldOfFree = decided.has(0);
    },
  );
  await until(() => isToldOfFree);
  await firstHolder.query('ROLLBACK');
  await until(async () => (await entriesOf(first)) === 1);
  await logs.raw('REVOKE SELECT ON epochs FROM tallystick_writer');
  await secondHolder.query('ROLLBACK');
  const statuses = (await appended).map(({ status }) => status);
  await logs.raw('GRANT SELECT ON epochs TO tallystick_writer');
  await Promise.all([firstHolder.end(), secondHolder.end()]);
  assert.deepEqual(statuses, ['Done', 'Done', 'Faulty']);
  assert.equal(await entriesOf(second), 0);
});

test('tenant by tenant, because the tables refuse one log, when the database goes away in between', async () => {
  const [stored, refused, lost] = (await logs.newTenants(3)) as [string, string, string];
  await newWriter(logs.database).append([requestOf(refused)], NOW);
  await logs.raw('UPDATE heads SET next_index = 0, leaf = NULL WHERE tenant_id = $1', [refused]);
  await logs.raw(
    `CREATE FUNCTION away() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN
       IF NEW.tenant_id = '${lost}' AND (SELECT next_index FROM ${SCHEMA}.heads
           WHERE tenant_id = '${stored}' AND xmin <> pg_current_xact_id()::xid) > 0
       THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF;
       RETURN NEW; END $$;
     CREATE TRIGGER away BEFORE UPDATE ON ${SCHEMA}.heads FOR EACH ROW EXECUTE FUNCTION away()`,
  );
  const pool = [stored, refused, lost].map((each) => requestOf(each));
  const statuses = (await newWriter(logs.database).append(pool, NOW)).map(({ status }) => status);
  await logs.raw('DROP TRIGGER away ON heads');
  assert.deepEqual(statuses, ['Done', 'Faulty', 'Faulty']);
  assert.deepEqual([await entriesOf(stored), await entriesOf(lost)], [1, 0]);
});
