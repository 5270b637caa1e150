// The work port on tables of jobs, for both backends.

import { type Calls, callsFor } from '../../runtime/calls.ts';
import type { TenantJobs, WorkStore } from '../../work/jobs.ts';
import type { JobTables } from './job-tables.ts';

export function workStoreOn(jobs: Calls<JobTables<unknown>>): WorkStore {
  const { claim, renew, finish, letterCountOfAll, backlogOfAll, overdue, sweep } = jobs;
  return {
    forTenant: (tenant): TenantJobs => callsFor(tenant, jobs),
    claim,
    renew,
    finish,
    letterCountOfAll,
    backlogOfAll,
    overdue,
    sweep,
  };
}
