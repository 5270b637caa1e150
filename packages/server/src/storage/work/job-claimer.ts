// Claims jobs fairly: tenants take turns, and so do the lanes of a tenant, with one index lookup each.

import type { TenantId } from '@tallystick/contract';
import type { Claim, ClaimRequest, Job } from '../../work/jobs.ts';
import { numberOf, textIn } from '../rows/columns.ts';
import { compared, jobIn, tokenIn } from './job-row.ts';
import type { JobDatabase, JobRow, JobTransaction, JobValue } from './job-database.ts';
import type { JobStatements } from './job-statements.ts';
import { splitFairly } from './split-fairly.ts';

export class JobClaimer<S> {
  readonly #database: JobDatabase<S>;
  readonly #statements: JobStatements<S>;
  /** By kind, and by kind and tenant: the last tenant, or lane, that had its turn. */
  readonly #lastTurns = new Map<string, string>();

  constructor(database: JobDatabase<S>) {
    this.#database = database;
    this.#statements = database.statements;
  }

  async claim(request: ClaimRequest): Promise<Claim[]> {
    const tenants = await this.#tenantsInTurn(request);
    const claims: Claim[] = [];
    const takeOf = async (transaction: JobTransaction<S>, tenant: TenantId, max: number) => {
      const taken = await this.#takeOfTenant(transaction, tenant, { ...request, max });
      claims.push(...taken);
      return taken.length;
    };
    if (await this.#database.isDistributed()) {
      await splitFairly(tenants, request.max, (tenant, max) =>
        this.#database.inTransaction('All', (transaction) => takeOf(transaction, tenant, max)),
      );
    } else if (tenants.length > 0) {
      await this.#database.inTransaction('All', (transaction) =>
        splitFairly(tenants, request.max, (tenant, max) => takeOf(transaction, tenant, max)),
      );
    }
    const last = claims.at(-1)?.job.tenant;
    if (last !== undefined) this.#lastTurns.set(request.kind, last);
    return claims;
  }

  /** Starts after the last one. */
  async #tenantsInTurn({ kind, max }: ClaimRequest): Promise<TenantId[]> {
    const last = this.#lastTurns.get(kind) ?? '';
    const { allTenants, tenantsInTurn } = this.#statements;
    const isDistributed = await this.#database.isDistributed();
    return this.#database.inTransaction('All', async (transaction) => {
      if (isDistributed) {
        const all = namesIn(await transaction.query(allTenants, [kind]));
        return [...all.filter((name) => name > last), ...all.filter((name) => name <= last)].slice(0, max);
      }
      return this.#inTurn(transaction, tenantsInTurn, [kind], last, max);
    });
  }

  async #inTurn(
    transaction: JobTransaction<S>,
    statement: S,
    of: readonly JobValue[],
    last: string,
    max: number,
  ): Promise<string[]> {
    const behind = namesIn(await transaction.query(statement, [...of, last, max]));
    if (behind.length >= max || last === '') return behind;
    const first = namesIn(await transaction.query(statement, [...of, '', max - behind.length]));
    return [...behind, ...first.filter((name) => name <= last)];
  }

  async #takeOfTenant(
    transaction: JobTransaction<S>,
    tenant: TenantId,
    request: ClaimRequest,
  ): Promise<Claim[]> {
    const turn = `${request.kind}\n${tenant}`;
    // The unnamed lane comes before all others.
    const last = this.#lastTurns.get(turn) ?? '';
    const lanes = await this.#lanesInTurn(transaction, tenant, request, last);
    const claims: Claim[] = [];
    await splitFairly(lanes, request.max, async (lane, max) => {
      const taken = await this.#takeOfLane(transaction, { tenant, lane }, { ...request, max });
      claims.push(...taken);
      return taken.length;
    });
    const lastLane = claims.at(-1)?.job.lane;
    if (lanes.length < 2 || lastLane === undefined) this.#lastTurns.delete(turn);
    else this.#lastTurns.set(turn, lastLane);
    return claims;
  }

  async #lanesInTurn(
    transaction: JobTransaction<S>,
    tenant: TenantId,
    { kind, max }: ClaimRequest,
    last: string,
  ): Promise<string[]> {
    const named = await this.#inTurn(transaction, this.#statements.lanesInTurn, [kind, tenant], last, max);
    return last === '' ? ['', ...named].slice(0, max) : [...named, ''].slice(0, Math.max(max, 1));
  }

  async #takeOfLane(
    transaction: JobTransaction<S>,
    { tenant, lane }: Pick<Job, 'tenant' | 'lane'>,
    { kind, max, perLane, leaseMs }: ClaimRequest,
  ): Promise<Claim[]> {
    const { lockLane, heldCount, take } = this.#statements;
    if (lockLane !== undefined) {
      const [lock] = await transaction.query(lockLane, [kind, tenant, lane]);
      if (lock?.['is_mine'] !== true) return [];
    }
    const [held] = await transaction.query(heldCount, [kind, tenant, lane]);
    const free = Math.min(max, perLane - numberOf(held, 'count'));
    if (free <= 0) return [];
    const rows = await transaction.query(take, [kind, tenant, lane, free, leaseMs]);
    return rows
      .map((row) => ({ job: jobIn(row), token: tokenIn(row) }))
      .sort((a, b) => compared(a.job, b.job));
  }
}

function namesIn(rows: readonly JobRow[]): string[] {
  return rows.map((row) => textIn(row, 'name'));
}
