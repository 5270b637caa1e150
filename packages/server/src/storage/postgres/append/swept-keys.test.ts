// Expired keys are swept while other transactions reuse them.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Client } from 'pg';
import type { AppendRequest } from '../../../streams/log.ts';
import { until } from '../../../testing/until.ts';
import { SCHEMA } from '../connection/database.ts';
import { NOW_MS } from '../../event-index/testing/open-index.ts';
import { TestTables } from '../testing/test-tables.ts';
import { newWriter, requestOf } from '../testing/plain-writer.ts';

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

function keyed(tenant: string, expiresAtMs: number): AppendRequest {
  const once = {
    operation: 'events.ingest' as const,
    key: 'k',
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
