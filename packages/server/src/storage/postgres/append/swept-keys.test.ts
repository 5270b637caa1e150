// Expired keys are swept while other transactions reuse them.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Client } from 'pg';
import type { AppendRequest } from '../../../streams/log.ts';
import { until } from '../../../testing/until.ts';
import { Database, SCHEMA } from '../connection/database.ts';
import { NOW_MS } from '../../event-index/testing/open-index.ts';
import { TestTables } from '../testing/test-tables.ts';
import { newWriter, requestOf } from '../testing/plain-writer.ts';
import { endKeyWindows } from './swept-keys.ts';

const HOUR_MS = 3_600_000;
const SLOW_LOCK = 77;

let logs: TestTables;
before(async () => {
  logs = await TestTables.open();
  // A transaction that changes a row commits once this lock is free, as on a slow disk.
  await logs.raw(
    `CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS
       $$ BEGIN PERFORM pg_advisory_xact_lock(${SLOW_LOCK}); RETURN NULL; END $$;
     CREATE CONSTRAINT TRIGGER slow AFTER UPDATE ON ${SCHEMA}.used_keys DEFERRABLE INITIALLY DEFERRED
       FOR EACH ROW EXECUTE FUNCTION slow()`,
  );
});
after(() => logs?.[Symbol.asyncDispose]());

function keyed(tenant: string, expiresAtMs: number, key = 'k'): AppendRequest {
  const once = {
    operation: 'events.ingest' as const,
    key,
    fingerprint: new Uint8Array(64),
    classification: 'Internal' as const,
    expiresAtMs,
    note: '',
  };
  return { ...requestOf(tenant), once };
}

const at = (steadyNowMs: number) => ({ nowMs: NOW_MS, steadyNowMs });

async function waiters(type: 'advisory' | 'transactionid'): Promise<number> {
  return (await logs.raw('SELECT 1 FROM pg_stat_activity WHERE wait_event = $1', [type])).length;
}

test('a key that is reused during a sweep stays in use', async () => {
  const tenant = await logs.newTenant();
  const [one, other] = [newWriter(logs.database), newWriter(logs.database)];
  await one.append([keyed(tenant, HOUR_MS)], at(0));
  const holder = new Client({ connectionString: logs.url });
  await holder.connect();
  await holder.query(`SELECT pg_advisory_lock(${SLOW_LOCK})`);
  const appended = one.append([keyed(tenant, 26 * HOUR_MS)], at(2 * HOUR_MS));
  await until(async () => (await waiters('advisory')) > 0);
  const swept = other.sweepUsedKeys(2 * HOUR_MS);
  await until(async () => (await waiters('transactionid')) > 0);
  await holder.query(`SELECT pg_advisory_unlock(${SLOW_LOCK})`);
  assert.equal((await appended)[0]?.status, 'Done');
  await swept;
  const again = () => one.append([keyed(tenant, 26 * HOUR_MS)], at(2 * HOUR_MS + 60_000));
  assert.equal((await again())[0]?.status, 'Repeated');

  // The sweep does not wait for a transaction that holds a key for long.
  await holder.query(`BEGIN; UPDATE ${SCHEMA}.used_keys SET note = '' WHERE tenant_id = '${tenant}'`);
  assert.equal(await other.sweepUsedKeys(27 * HOUR_MS), false);
  await holder.query('ROLLBACK');
  await holder.end();
  assert.equal((await again())[0]?.status, 'Repeated');
  assert.equal(await other.sweepUsedKeys(27 * HOUR_MS), false);
  assert.equal((await again())[0]?.status, 'Done');
});

test('the windows of many keys are ended without reading each for each, also in a table that was empty when it was analysed', async () => {
  const keys = 2000;
  await using tables = await TestTables.open();
  const tenant = await tables.newTenant();
  await tables.raw('ANALYZE used_keys');
  await newWriter(tables.database).append(
    Array.from({ length: keys }, (_, i) => keyed(tenant, HOUR_MS, `k${i}`)),
    at(0),
  );
  const rowsRead = async () => {
    const [row] = await tables.raw(
      "SELECT seq_tup_read + coalesce(idx_tup_fetch, 0) AS rows FROM pg_stat_user_tables WHERE relname = 'used_keys'",
    );
    return Number((row as { rows: string }).rows);
  };
  const before = await rowsRead();
  {
    // Its end brings what it counted.
    await using database = new Database({ url: tables.url, connectionsMax: 1 });
    while (await endKeyWindows(database, tenant, 2 * HOUR_MS));
  }
  await until(async () => (await rowsRead()) > before);
  const read = (await rowsRead()) - before;
  assert.ok(read < 20 * keys, `${read} rows were read for ${keys} keys`);
});
