// How PostgreSQL finds the job that a statement is about.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { TestTables } from '../testing/test-tables.ts';
import { JOB_STATEMENTS } from './work.ts';

let tables: TestTables;
before(async () => {
  tables = await TestTables.open();
});
after(() => tables?.[Symbol.asyncDispose]());

test('one job is found by its id, not among all in its state, also where there was none when they were counted', async () => {
  await tables.raw(
    `INSERT INTO jobs (tenant_id, job_id, kind, lane, body, state, attempts, is_letter, created_ms, wake_ms)
     SELECT 'acme', id::text, 'Delivery', 'one', '{}', 'Done', 1, 0, 0, 0 FROM generate_series(1, 2000) AS id`,
  );
  await tables.raw('ANALYZE jobs');
  const { wake, renew, complete, putOff, fail, bury, remove, removeLater, buryParked, sweep } =
    JOB_STATEMENTS;
  for (const { text } of [
    wake,
    renew,
    complete,
    putOff,
    fail,
    bury,
    remove,
    removeLater,
    buryParked,
    sweep,
  ]) {
    const plan = (await tables.raw(`EXPLAIN (GENERIC_PLAN) ${text}`))
      .map((row) => row['QUERY PLAN'])
      .join('\n');
    const scans = [...plan.matchAll(/(?:Scan|Scan Backward) (?:using|on) (jobs\w*)/g)].map(
      ([, index]) => index,
    );
    assert.deepEqual([...new Set(scans)], ['jobs_pkey'], plan);
  }
});
