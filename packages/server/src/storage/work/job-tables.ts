// Jobs in tables, with the same code for both backends: SQLite runs it in the thread that owns work.db, PostgreSQL over
// a connection. Each method is one transaction.

import { ok as assert } from 'node:assert/strict';
import { LIMITS, type OperationName, type TenantId } from '@tallystick/contract';
import type {
  Backlog,
  Claim,
  ClaimRef,
  ClaimRequest,
  Enqueued,
  Finished,
  Job,
  JobKey,
  JobKind,
  JobLimits,
  LetterStates,
  NewJob,
  Retried,
  TenantJobs,
  UsedJobKey,
} from '../../work/jobs.ts';
import type { Lane, LaneClosing, LaneKind, LaneOpening, LaneRef } from '../../work/lanes.ts';
import type { RowsRequest } from '../../paging.ts';
import { numberOf, textIn } from '../rows/columns.ts';
import { compared, jobIn, jobKeyIn } from './job-row.ts';
import type { JobDatabase, JobRow, JobTransaction, JobValue } from './job-database.ts';
import type { JobStatements } from './job-statements.ts';
import { columnsOf, keyValues, valuesOf, valuesOfFailure } from './job-values.ts';
import { JobClaimer } from './job-claimer.ts';
import { JobFinisher } from './job-finisher.ts';
import { LaneTables } from './lane-tables.ts';
import { LetterTables } from './letter-tables.ts';
import { portionsOf } from './split-fairly.ts';

/** The number of jobs that are woken or swept at once. */
const PORTION = 1000;
/** Added by one statement. */
const ADDED_MAX = 500;

/** Why a job was not enqueued. */
interface Refused {
  readonly job: NewJob;
  readonly enqueued: Enqueued;
}

export class JobTables<S> {
  readonly #database: JobDatabase<S>;
  readonly #statements: JobStatements<S>;
  readonly #claimer: JobClaimer<S>;
  readonly #finisher: JobFinisher<S>;
  readonly #lanes: LaneTables<S>;
  readonly #letters: LetterTables<S>;

  constructor(database: JobDatabase<S>) {
    this.#database = database;
    this.#statements = database.statements;
    this.#lanes = new LaneTables(database);
    this.#letters = new LetterTables(database);
    this.#claimer = new JobClaimer(database);
    this.#finisher = new JobFinisher({
      database,
      lanes: this.#lanes,
      add: async (transaction, jobs) => void (await this.addAll(transaction, jobs)),
    });
  }

  enqueue(tenant: TenantId, job: Omit<NewJob, 'tenant'>, limits: JobLimits = {}): Promise<Enqueued> {
    const { waitingMax, doneMax } = limits;
    return this.#database
      .inTransaction({ tenant }, async (transaction) => {
        const enqueued = await this.add(transaction, { ...job, tenant });
        if (enqueued.status !== 'Enqueued') return enqueued;
        const values = [tenant, job.kind];
        if (waitingMax !== undefined) {
          const [row] = await transaction.query(this.#statements.waitingCount, [...values, waitingMax + 1]);
          if (numberOf(row, 'count') > waitingMax) throw new FullError();
        }
        if (doneMax !== undefined)
          await transaction.change(this.#statements.trimDone, [...values, doneMax, PORTION]);
        return enqueued;
      })
      .catch((error: unknown): Enqueued => {
        if (error instanceof FullError) return { status: 'Full' };
        throw error;
      });
  }

  enqueueAll(tenant: TenantId, jobs: readonly Omit<NewJob, 'tenant'>[]): Promise<number> {
    return this.#database.inTransaction({ tenant }, async (transaction) => {
      const inTheWay = await this.addAll(
        transaction,
        jobs.map((job) => ({ ...job, tenant })),
      );
      const revived = await Promise.all(
        inTheWay
          .filter(({ enqueued: { status } }) => status === 'Exists')
          .map(({ job: { kind, uniqueKey } }) =>
            transaction.change(this.#statements.revive, [tenant, kind, uniqueKey ?? null]),
          ),
      );
      return jobs.length - inTheWay.length + revived.reduce((sum, count) => sum + count, 0);
    });
  }

  /** Runs as part of a larger transaction; returns those that it has not enqueued, since something is in their way. */
  async addAll(transaction: JobTransaction<S>, jobs: readonly NewJob[]): Promise<Refused[]> {
    const added = new Set<NewJob>();
    // In the order of names, in which every transaction locks them.
    const isPlain = ({ once, dead }: NewJob) => once === undefined && dead === undefined;
    const portions = [...Map.groupBy(jobs.filter(isPlain), ({ tenant }) => tenant)].flatMap(
      ([tenant, some]) => portionsOf(some, ADDED_MAX).map((portion) => ({ tenant, portion })),
    );
    for (const { tenant, portion } of portions) {
      const given = JSON.stringify(portion.map(columnsOf));
      const rows = await transaction.query(this.#statements.addMany, [tenant, given]);
      const ids = new Set(rows.map((row) => textIn(row, 'job_id')));
      for (const job of portion) if (ids.delete(job.jobId)) added.add(job);
    }
    const others = jobs.filter((job) => !added.has(job));
    const done = await Promise.all(
      others.map(async (job) => ({ job, enqueued: await this.add(transaction, job) })),
    );
    return done.filter(({ enqueued: { status } }) => status !== 'Enqueued');
  }

  /** Runs as part of a larger transaction. */
  async add(transaction: JobTransaction<S>, job: NewJob): Promise<Enqueued> {
    const { tenant, kind, once, uniqueKey, dead } = job;
    const [row] = await transaction.query(this.#statements.add, valuesOf(job));
    if (row !== undefined) return { status: 'Enqueued', job: jobIn(row) };
    const found = await transaction.query(this.#statements.inTheWay, [
      tenant,
      job.jobId,
      once?.operation ?? null,
      once?.key ?? null,
      kind,
      uniqueKey ?? null,
    ]);
    const same = found.find((each) => each['job_id'] === job.jobId);
    if (same !== undefined) return { status: 'Known', job: jobIn(same) };
    const used =
      once && found.find((each) => each['operation'] === once.operation && each['key'] === once.key);
    if (once !== undefined && used !== undefined) return this.#addUnlessUsed(transaction, job, once, used);
    assert(found.length > 0, 'something is in the way of a job that is not enqueued');
    if (dead === undefined) return { status: 'Exists' };
    const [again] = await transaction.query(this.#statements.failAgain, valuesOfFailure(job));
    return { status: 'Known', job: jobIn(again!) };
  }

  /** An expired key may be used again. */
  async #addUnlessUsed(
    transaction: JobTransaction<S>,
    job: NewJob,
    once: JobKey,
    row: JobRow,
  ): Promise<Enqueued> {
    const used = usedIn(row);
    const nowMs = once.expiresAtMs - LIMITS.idempotencyWindowMs;
    if (used.expiresAtMs > nowMs) return { status: 'KeyUsed', used };
    await transaction.change(this.#statements.forgetKey, [job.tenant, once.operation, once.key, nowMs]);
    return this.add(transaction, job);
  }

  async find(tenant: TenantId, jobId: string): Promise<Job | undefined> {
    const [row] = await this.#read(tenant, this.#statements.find, [tenant, jobId]);
    return row && jobIn(row);
  }

  async findUnique(tenant: TenantId, kind: JobKind, uniqueKey: string): Promise<Job | undefined> {
    const [row] = await this.#read(tenant, this.#statements.findUnique, [tenant, kind, uniqueKey]);
    return row && jobIn(row);
  }

  async usedKey(
    tenant: TenantId,
    operation: OperationName,
    key: string,
    steadyNowMs: number,
  ): Promise<UsedJobKey | undefined> {
    const [row] = await this.#read(tenant, this.#statements.usedKey, [tenant, operation, key, steadyNowMs]);
    return row && usedIn(row);
  }

  endKeyWindows(tenant: TenantId, beforeMs: number): Promise<boolean> {
    return this.#database.inTransaction(
      { tenant },
      async (transaction) =>
        (await transaction.change(this.#statements.endKeyWindows, [tenant, beforeMs, PORTION])) >= PORTION,
    );
  }

  letters(tenant: TenantId, request: RowsRequest & LetterStates): Promise<Job[]> {
    return this.#letters.list(tenant, request);
  }

  letterCount(tenant: TenantId, states: LetterStates): Promise<number> {
    return this.#letters.count(tenant, states);
  }

  letterCountOfTenant(tenant: TenantId): Promise<number> {
    return this.#letters.countOf(tenant);
  }

  letterCountOfAll(): Promise<number> {
    return this.#letters.countOf(undefined);
  }

  backlog(tenant: TenantId, kind: JobKind): Promise<Backlog> {
    return this.#lanes.backlog(tenant, kind);
  }

  backlogOfAll(kind: JobKind): Promise<Backlog> {
    return this.#lanes.backlog(undefined, kind);
  }

  overdue(kind: JobKind, byMs: number): Promise<(LaneRef & { readonly tenant: TenantId }) | undefined> {
    return this.#lanes.overdue(kind, byMs);
  }

  removeLetters(tenant: TenantId, kind: JobKind, failedBeforeMs: number): Promise<number> {
    return this.#letters.remove(tenant, kind, failedBeforeMs);
  }

  retry(tenant: TenantId, jobId: string, once?: JobKey): Promise<Retried> {
    return this.#again(this.#statements.retry, tenant, jobId, once);
  }

  doAgain(tenant: TenantId, jobId: string, once?: JobKey): Promise<Retried> {
    return this.#again(this.#statements.doAgain, tenant, jobId, once);
  }

  retryAll(tenant: TenantId, kinds: readonly JobKind[], lane: string | undefined): Promise<number> {
    return this.#letters.retryAll(tenant, kinds, lane);
  }

  #again(statement: S, tenant: TenantId, jobId: string, once: JobKey | undefined): Promise<Retried> {
    return this.#database.inTransaction({ tenant }, async (transaction) => {
      const { usedKey, forgetKey, keyOfJob, setKey } = this.#statements;
      if (once !== undefined) {
        const asked = [tenant, once.operation, once.key, once.expiresAtMs - LIMITS.idempotencyWindowMs];
        const [row] = await transaction.query(usedKey, asked);
        if (row !== undefined) return { status: 'KeyUsed', used: usedIn(row) };
        await transaction.change(forgetKey, asked);
      }
      if ((await transaction.change(statement, [tenant, jobId])) === 0) return { status: 'Unknown' };
      if (once !== undefined) {
        const [row] = await transaction.query(keyOfJob, [tenant, jobId]);
        const before = row && jobKeyIn(row);
        await transaction.change(setKey, [tenant, jobId, ...keyValues(once)]);
        // That of an earlier request counts on.
        if (before !== undefined) {
          const id = `${jobId} ${before.operation} ${before.key}`;
          await this.add(transaction, { tenant, jobId: id, kind: 'Answer', body: '{}', once: before });
        }
      }
      return { status: 'Retried' };
    });
  }

  jobsOfLane(tenant: TenantId, request: Parameters<TenantJobs['jobsOfLane']>[0]): Promise<Job[]> {
    return this.#lanes.jobs(tenant, request);
  }

  jobCountOfLane(tenant: TenantId, request: Parameters<TenantJobs['jobCountOfLane']>[0]): Promise<number> {
    return this.#lanes.jobCount(tenant, request);
  }

  lanes(tenant: TenantId, kind: LaneKind, lanes: readonly string[]): Promise<Lane[]> {
    return this.#lanes.find(tenant, kind, lanes);
  }

  changeLane(tenant: TenantId, lane: LaneRef, news: LaneOpening | LaneClosing): Promise<boolean> {
    return this.#lanes.change(tenant, lane, news);
  }

  removeLane(tenant: TenantId, lane: LaneRef): Promise<boolean> {
    return this.#lanes.remove(tenant, lane);
  }

  forgetHeard(tenant: TenantId, kind: JobKind): Promise<boolean> {
    const { hearNothing, forgetHeard } = this.#statements;
    return this.#database.inTransaction({ tenant }, async (transaction) => {
      await transaction.change(hearNothing, [tenant, kind]);
      return (await transaction.change(forgetHeard, [tenant, kind, PORTION])) >= PORTION;
    });
  }

  async claim(request: ClaimRequest): Promise<Claim[]> {
    const { due, wake } = this.#statements;
    // Most often there is nothing, and one look finds that out.
    const found = await this.#database.inTransaction('All', (transaction) =>
      Promise.all([transaction.query(due, [PORTION]), this.#lanes.toRefill(transaction, request)]),
    );
    // An expired lease makes the job available again.
    await this.#changeRows(found[0], wake);
    await this.#lanes.refill(request, found[1]);
    return this.#claimer.claim(request);
  }

  /** One portion; true if there may be more. */
  async sweep(): Promise<boolean> {
    const { over, sweep } = this.#statements;
    const rows = await this.#database.inTransaction('All', (transaction) =>
      transaction.query(over, [PORTION]),
    );
    await this.#changeRows(rows, sweep);
    return rows.length >= PORTION;
  }

  async #changeRows(rows: readonly JobRow[], change: S): Promise<void> {
    const refs = rows.map((row) => ({ tenant: textIn(row, 'tenant_id'), jobId: textIn(row, 'job_id') }));
    await this.#changeEach(refs, (transaction, { tenant, jobId }) =>
      transaction.change(change, [tenant, jobId]),
    );
  }

  renew(
    claims: readonly (ClaimRef & { readonly progress?: string | undefined })[],
    leaseMs: number,
  ): Promise<boolean[]> {
    return this.#changeEach(claims, (transaction, { tenant, jobId, token, progress = null }) =>
      transaction.change(this.#statements.renew, [tenant, jobId, token, leaseMs, progress]),
    );
  }

  async finish(finished: readonly Finished[]): Promise<boolean[]> {
    const held = await this.#inCommits(finished, (transaction, some) =>
      this.#finisher.finish(transaction, some),
    );
    return finished.map((each) => held.some((some) => some.has(each)));
  }

  #read(tenant: TenantId, statement: S, values: readonly JobValue[]): Promise<JobRow[]> {
    return this.#database.inTransaction({ tenant, isRead: true }, (transaction) =>
      transaction.query(statement, values),
    );
  }

  /** In the order of their keys; returns for each whether it was changed. */
  async #changeEach<T extends Pick<Job, 'tenant' | 'jobId'>>(
    items: readonly T[],
    change: (transaction: JobTransaction<S>, item: T) => Promise<number>,
  ): Promise<boolean[]> {
    const changed = new Set<T>();
    await this.#inCommits(items, async (transaction, some) => {
      const ordered = some.toSorted(compared);
      const counts = await Promise.all(ordered.map((item) => change(transaction, item)));
      for (const [n, item] of ordered.entries()) if (counts[n]! > 0) changed.add(item);
    });
    return items.map((item) => changed.has(item));
  }

  /** In one commit; in one for each tenant, where tenants are on different machines. */
  async #inCommits<T extends Pick<Job, 'tenant'>, R>(
    items: readonly T[],
    work: (transaction: JobTransaction<S>, some: readonly T[]) => Promise<R>,
  ): Promise<R[]> {
    if (items.length === 0) return [];
    const done: R[] = [];
    const portions = (await this.#database.isDistributed())
      ? Map.groupBy(items, ({ tenant }) => tenant).values()
      : [items];
    for (const some of portions)
      done.push(await this.#database.inTransaction('All', (transaction) => work(transaction, some)));
    return done;
  }
}

/** Rolls back its transaction. */
class FullError extends Error {}

function usedIn(row: JobRow): UsedJobKey {
  const key = jobKeyIn(row);
  assert(key !== undefined, 'it was found by its key');
  return { ...key, job: jobIn(row) };
}
