// How SQLite finds the jobs that a statement is about. A tenant may have millions, so none reads all of them to find one.

import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { heardColumns, JOB_INDEXES, jobTables, laneTables } from '../../work/job-schema.ts';
import { jobStatements } from '../../work/job-statements.ts';
import { violationEvents, violationTables } from '../../work/violation-statements.ts';
import { sqliteJobDialect } from './job-dialect.ts';

const TYPES = { text: 'TEXT', number: 'INTEGER', bytes: 'BLOB', end: ' STRICT, WITHOUT ROWID' };

function plans(): Map<string, string> {
  using db = new DatabaseSync(':memory:');
  const events = { text: 'TEXT', eventId: "body ->> '$.eventId'", kept: 'VIRTUAL' } as const;
  const tables = [
    jobTables(TYPES),
    violationTables(TYPES),
    violationEvents(events),
    laneTables(TYPES),
    JOB_INDEXES,
    heardColumns(TYPES),
  ];
  for (const sql of tables.flat()) db.exec(sql);
  db.function('now_ms', () => 0);
  const statements = jobStatements(sqliteJobDialect((text): string | undefined => text));
  const planOf = (sql: string) =>
    db
      .prepare(`EXPLAIN QUERY PLAN ${sql}`)
      .all()
      .map(({ detail }) => String(detail));
  return new Map(
    Object.entries(statements).flatMap(([name, sql]) =>
      sql === undefined ? [] : [[name, planOf(sql).join('; ')]],
    ),
  );
}

test('no statement reads all jobs, or all of a tenant', () => {
  // The index of letters has what their number needs.
  const readsAll =
    /SCAN jobs\b(?! USING COVERING INDEX jobs_letters)|SEARCH jobs USING PRIMARY KEY \(tenant_id=\?(?! AND job_id=)/;
  const all = [...plans()];
  assert.ok(all.length > 60, String(all.length));
  assert.deepEqual(
    all.filter(([, plan]) => readsAll.test(plan)),
    [],
  );
});

test('what may be found many times is found by an index that has it in order, and by nothing else', () => {
  const sought = (name: string) => [
    ...(plans()
      .get(name)
      ?.matchAll(/SEARCH jobs USING ([^;]*)/g) ?? []),
  ];
  const found = (name: string) => new Set(sought(name).map(([, how]) => how));
  const byId = 'PRIMARY KEY (tenant_id=? AND job_id=?)';
  const ofLane = 'COVERING INDEX jobs_of_lane (tenant_id=? AND kind=? AND lane=? AND state=?';
  assert.deepEqual(found('jobsOfLaneBefore'), new Set([byId, `${ofLane} AND job_id<?)`]));
  assert.deepEqual(found('jobCountOfLane'), new Set([`${ofLane})`]));
  assert.deepEqual(
    found('lettersOfLaneAfter'),
    new Set([
      byId,
      `${ofLane} AND job_id>?)`,
      'COVERING INDEX jobs_retried_of_lane (tenant_id=? AND kind=? AND lane=? AND job_id>?)',
    ]),
  );
  assert.deepEqual(
    found('lettersAfter'),
    new Set([
      byId,
      'COVERING INDEX jobs_dead (tenant_id=? AND kind=? AND job_id>?)',
      'COVERING INDEX jobs_retried (tenant_id=? AND kind=? AND job_id>?)',
    ]),
  );
  assert.deepEqual(
    found('removeLetters'),
    new Set([byId, 'COVERING INDEX jobs_dead_since (tenant_id=? AND kind=? AND last_failed_ms<?)']),
  );
  assert.deepEqual(
    found('forgetHeard'),
    new Set([byId, 'COVERING INDEX jobs_heard (tenant_id=? AND kind=?)']),
  );
});
