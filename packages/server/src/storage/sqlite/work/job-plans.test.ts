// How SQLite finds the jobs that a statement is about. A tenant may have millions, so none reads all of them to find one.

import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { jobTables, laneTables } from '../../work/job-schema.ts';
import { jobStatements } from '../../work/job-statements.ts';
import { violationEvents, violationTables } from '../../work/violation-statements.ts';
import { sqliteJobDialect } from './job-dialect.ts';

const TYPES = { text: 'TEXT', number: 'INTEGER', bytes: 'BLOB', end: ' STRICT, WITHOUT ROWID' };

function plans(): Map<string, string> {
  using db = new DatabaseSync(':memory:');
  const events = { text: 'TEXT', eventId: "body ->> '$.eventId'", kept: 'VIRTUAL' } as const;
  const tables = [jobTables(TYPES), violationTables(TYPES), violationEvents(events), laneTables(TYPES)];
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

/** Asked once by a caller or a sweep, and not once for each job. */
const FOR_MANY = new Set([
  'endKeyWindows',
  'waitingCount',
  'letterCount',
  'removeLetters',
  'retryAll',
  'jobCountOfLane',
  'removeJobsOfLane',
]);

test('no statement about one job reads all jobs, or all of a tenant', () => {
  const readsAll = /SCAN jobs\b(?! USING)|SEARCH jobs USING PRIMARY KEY \(tenant_id=\?\)/;
  const ofOne = [...plans()].filter(([name]) => !FOR_MANY.has(name));
  assert.ok(ofOne.length > 30, String(ofOne.length));
  assert.deepEqual(
    ofOne.filter(([, plan]) => readsAll.test(plan)),
    [],
  );
});
