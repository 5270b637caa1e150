// Jobs that changes cause: committed to journal.db with the change, and moved to work.db before a claim or a lookup
// there. Moving a job twice changes nothing: its id is in work.db already.
// A sweep also empties the write-ahead log of work.db: what removed jobs have heard is still in it.

import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { parseJson } from '@tallystick/evidence';
import type { CausedJob, Claim, ClaimRequest, Job, NewJob } from '../../../work/jobs.ts';
import { textIn } from '../../rows/columns.ts';
import { JobTables } from '../../work/job-tables.ts';
import { inTransaction, openJournal } from '../connection/database.ts';
import { emptyWriteAheadLogs } from '../connection/erase-traces.ts';
import { WORK_FILE, type WorkDatabase } from './work-database.ts';

export interface OutboxParts {
  readonly directory: string;
  /** For reading. */
  readonly journal: DatabaseSync;
  readonly database: WorkDatabase;
}

export class JobTablesWithOutbox extends JobTables<StatementSync> {
  readonly #parts: OutboxParts;
  readonly #waiting: StatementSync;
  #last: Promise<void> = Promise.resolve();

  constructor(parts: OutboxParts) {
    super(parts.database);
    this.#parts = parts;
    this.#waiting = parts.journal.prepare('SELECT tenant_id, job FROM outbox JOIN tenants USING (tenant)');
  }

  override async claim(request: ClaimRequest): Promise<Claim[]> {
    await this.#takeOver();
    return super.claim(request);
  }

  override async find(tenant: string, jobId: string): Promise<Job | undefined> {
    await this.#takeOver();
    return super.find(tenant, jobId);
  }

  override async sweep(): Promise<boolean> {
    const isMore = await super.sweep();
    // Where a reader is in the way, the next sweep does it.
    if (!isMore) emptyWriteAheadLogs(this.#parts.directory, [WORK_FILE]);
    return isMore;
  }

  /** One at a time: nobody claims a job that is still in the outbox, or it might be taken over again when it is done. */
  #takeOver(): Promise<void> {
    this.#last = this.#last.catch(() => {}).then(() => this.#takeAll());
    return this.#last;
  }

  async #takeAll(): Promise<void> {
    const jobs = this.#waiting.all().flatMap(jobsIn);
    if (jobs.length === 0) return;
    await this.#parts.database.inTransaction('All', async (transaction) => {
      for (const job of jobs) await this.add(transaction, job);
    });
    using db = openJournal(this.#parts.directory, { mayCreate: false });
    const remove = db.prepare(
      'DELETE FROM outbox WHERE tenant = (SELECT tenant FROM tenants WHERE tenant_id = ?) AND job_id = ?',
    );
    inTransaction(db, () => {
      for (const { tenant, jobId } of jobs) remove.run(tenant, jobId);
    });
  }
}

/** None for a row that somebody has altered: it must not keep the jobs of all others from being taken over. */
function jobsIn(row: Readonly<Record<string, unknown>>): NewJob[] {
  try {
    // Only a pool writes these texts, of a CausedJob.
    const job = parseJson(textIn(row, 'job')) as CausedJob;
    const isWhole = [job.jobId, job.kind, job.body].every((each) => typeof each === 'string');
    return isWhole ? [{ ...job, tenant: textIn(row, 'tenant_id') }] : [];
  } catch {
    return [];
  }
}
