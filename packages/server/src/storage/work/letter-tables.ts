// Dead letters in tables, with the same code for both backends.

import type { TenantId } from '@tallystick/contract';
import type { RowsRequest } from '../../paging.ts';
import type { Job, JobKind, LetterStates } from '../../work/jobs.ts';
import { numberOf } from '../rows/columns.ts';
import { LAST_ID } from '../rows/last-id.ts';
import { RECORDS_COUNTED_MAX } from '../rows/record-row.ts';
import type { JobDatabase, JobRow, JobTransaction, JobValue } from './job-database.ts';
import { compared, jobIn } from './job-row.ts';
import type { JobStatements } from './job-statements.ts';

/** The number of letters that are retried or removed at once. */
const PORTION = 1000;

export class LetterTables<S> {
  readonly #database: JobDatabase<S>;
  readonly #statements: JobStatements<S>;

  constructor(database: JobDatabase<S>) {
    this.#database = database;
    this.#statements = database.statements;
  }

  async list(tenant: TenantId, { way, beyond, limit, ...asked }: RowsRequest & LetterStates): Promise<Job[]> {
    const { lettersBefore, lettersAfter, lettersOfLaneBefore, lettersOfLaneAfter } = this.#statements;
    const isFalling = way === 'Falling';
    const [all, ofLane] = isFalling
      ? [lettersBefore, lettersOfLaneBefore]
      : [lettersAfter, lettersOfLaneAfter];
    const from = beyond ?? (isFalling ? LAST_ID : '');
    const rows = await this.#ofEachKind(tenant, asked, asked.lane === undefined ? all : ofLane, [
      from,
      limit,
    ]);
    const jobs = rows.map(jobIn).sort(compared);
    return (isFalling ? jobs.toReversed() : jobs).slice(0, limit);
  }

  async count(tenant: TenantId, asked: LetterStates): Promise<number> {
    const { letterCount, letterCountOfLane } = this.#statements;
    const statement = asked.lane === undefined ? letterCount : letterCountOfLane;
    const rows = await this.#ofEachKind(tenant, asked, statement, []);
    const count = rows.reduce((sum, row) => sum + numberOf(row, 'count'), 0);
    return Math.min(count, RECORDS_COUNTED_MAX);
  }

  /** Undefined: of all tenants. */
  countOf(tenant: TenantId | undefined): Promise<number> {
    const { letterCountOfTenant, letterCountOfAll } = this.#statements;
    return tenant === undefined
      ? this.#database.inTransaction('All', async (transaction) => countIn(transaction, letterCountOfAll, []))
      : this.#database.inTransaction({ tenant, isRead: true }, (transaction) =>
          countIn(transaction, letterCountOfTenant, [tenant]),
        );
  }

  retryAll(tenant: TenantId, kinds: readonly JobKind[], lane: string | undefined): Promise<number> {
    const { retryAll, retryAllOfLane } = this.#statements;
    const statement = lane === undefined ? retryAll : retryAllOfLane;
    return this.#database.inTransaction({ tenant }, async (transaction) => {
      let count = 0;
      for (const kind of kinds)
        if (count < PORTION)
          count += await transaction.change(statement, [tenant, kind, lane ?? null, PORTION - count]);
      return count;
    });
  }

  remove(tenant: TenantId, kind: JobKind, failedBeforeMs: number): Promise<number> {
    return this.#database.inTransaction({ tenant }, (transaction) =>
      transaction.change(this.#statements.removeLetters, [tenant, kind, failedBeforeMs, PORTION]),
    );
  }

  /** One look for each kind, since an index has the letters of one in order. */
  #ofEachKind(
    tenant: TenantId,
    { kinds, lane, isWaiting, isRetried }: LetterStates,
    statement: S,
    values: readonly JobValue[],
  ): Promise<JobRow[]> {
    const asked = [lane ?? null, Number(isWaiting), Number(isRetried), ...values];
    return this.#database.inTransaction({ tenant, isRead: true }, async (transaction) => {
      const rows: JobRow[] = [];
      for (const kind of kinds) rows.push(...(await transaction.query(statement, [tenant, kind, ...asked])));
      return rows;
    });
  }
}

async function countIn<S>(
  transaction: JobTransaction<S>,
  statement: S,
  values: readonly JobValue[],
): Promise<number> {
  const [row] = await transaction.query(statement, values);
  return numberOf(row, 'count');
}
