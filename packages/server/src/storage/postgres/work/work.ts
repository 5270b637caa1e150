// Work on PostgreSQL: jobs are stored beside the log, and every node claims from the same tables.

import type { ViolationStore } from '../../../alerts/violations.ts';
import { callsHere } from '../../../runtime/calls.ts';
import type { WorkStore } from '../../../work/jobs.ts';
import { jobStatements } from '../../work/job-statements.ts';
import type { JobDatabase, JobScope } from '../../work/job-database.ts';
import { JobTables } from '../../work/job-tables.ts';
import { ViolationTables, violationStoreOn } from '../../work/violation-tables.ts';
import { workStoreOn } from '../../work/work-store.ts';
import {
  ALL_TENANTS,
  type Database,
  type DatabaseScope,
  type Statement,
  statement,
} from '../connection/database.ts';

// Citus takes no volatile function in an UPDATE, and none that depends on the moment inside of COALESCE.
const NOW = '(extract(epoch FROM statement_timestamp()) * 1000)::bigint';

const TYPES = { text: 'text', number: 'bigint' } as const;

const among = (column: string, list: string) =>
  `${column} = ANY (ARRAY(SELECT jsonb_array_elements_text(${list}::jsonb)))`;

function rowsOf(list: string, columns: Readonly<Record<string, keyof typeof TYPES>>): string {
  const each = Object.entries(columns).map(([name, type]) => `${name} ${TYPES[type]}`);
  return `jsonb_to_recordset(${list}::jsonb) AS given (${each.join(', ')})`;
}

export const JOB_STATEMENTS = jobStatements<Statement>({
  now: NOW,
  orNow: (column) => `least(${column}, ${NOW})`,
  lock: ' FOR UPDATE',
  skipLocked: ' FOR UPDATE SKIP LOCKED',
  lockLanes: `SELECT lane, pg_try_advisory_xact_lock(hashtextextended(concat_ws(' ', $1::text, $2::text, lane), 0)) AS is_mine
    FROM ${rowsOf('$3', { lane: 'text' })}`,
  among,
  oneOf: (column, list) => `(${list}::text IS NULL OR ${among(column, list)})`,
  rowsOf,
  ofEach: (list, columns, select) =>
    `${rowsOf(list, columns)} CROSS JOIN LATERAL (${select((column) => `given.${column}`)}) AS found`,
  // As IN, a plan made before there were statistics carries it out again for every job of the tenant.
  idIn: (ids) => `job_id = ANY (ARRAY(${ids}))`,
  prepare: statement,
});

export function createWorkStore(database: Database): WorkStore {
  return workStoreOn(callsHere(new JobTables(jobsIn(database))));
}

export function createViolationStore(database: Database): ViolationStore {
  return violationStoreOn(callsHere(new ViolationTables(jobsIn(database))));
}

export function jobsIn(database: Database): JobDatabase<Statement> {
  return {
    statements: JOB_STATEMENTS,
    lanesAtOnce: 100,
    isDistributed: () => database.isDistributed(),
    inTransaction: (scope, work) =>
      isRead(scope)
        ? database.inOneState(scopeOf(scope), async (transaction) => work(transaction))
        : database.inTransaction(scopeOf(scope), work, true),
  };
}

function isRead(scope: JobScope): boolean {
  return scope !== 'All' && scope.isRead === true;
}

function scopeOf(scope: JobScope): DatabaseScope {
  if (scope === 'All') return ALL_TENANTS;
  return { role: scope.isRead ? 'Reader' : 'Writer', tenants: [scope.tenant] };
}
