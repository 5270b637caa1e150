// Claims jobs fairly: tenants take turns, and so do the lanes of a tenant, with one index lookup each.

import type { TenantId } from '@tallystick/contract';
import type { Claim, ClaimRequest } from '../../work/jobs.ts';
import { numberOf, textIn } from '../rows/columns.ts';
import { compared, jobIn, tokenIn } from './job-row.ts';
import type { JobDatabase, JobRow, JobTransaction, JobValue } from './job-database.ts';
import type { JobStatements } from './job-statements.ts';
import { parkJobs } from './lane-tables.ts';
import { portionsOf, splitFairly } from './split-fairly.ts';

/** Above it all turns begin from the first name again, which is unfair to nobody for long. */
const TURNS_MAX = 10_000;

interface Claiming extends ClaimRequest {
  /** What is left of `laneLimits` and `otherLanesMax`, by `laneKey`: a lane may have several turns in one claim. */
  readonly laneLeft: Map<string, number>;
}

export class JobClaimer<S> {
  readonly #database: JobDatabase<S>;
  readonly #statements: JobStatements<S>;
  /** By kind, and by kind and tenant: the last tenant, or lane, that had its turn. */
  readonly #lastTurns = new Map<string, string>();

  constructor(database: JobDatabase<S>) {
    this.#database = database;
    this.#statements = database.statements;
  }

  async claim(asked: ClaimRequest): Promise<Claim[]> {
    const request: Claiming = { ...asked, laneLeft: leftOf(asked) };
    const { kind } = request;
    const claims: Claim[] = [];
    const takeOf = async (transaction: JobTransaction<S>, tenant: TenantId, max: number) => {
      const taken = await this.#takeOfTenant(transaction, tenant, { ...request, max });
      claims.push(...taken);
      return taken.length;
    };
    const inTurn = { last: this.#lastTurns.get(kind), max: request.max };
    const { allTenants, tenantsInTurn } = this.#statements;
    const inTransaction = <T>(work: (transaction: JobTransaction<S>) => Promise<T>) =>
      this.#database.inTransaction('All', work);
    const last = (await this.#database.isDistributed())
      ? await offerInTurn(inTurn, {
          after: inOrder(await inTransaction(async (it) => namesIn(await it.query(allTenants, [kind])))),
          share: eachBy((tenant, max) => inTransaction((transaction) => takeOf(transaction, tenant, max))),
        })
      : await inTransaction((transaction) =>
          offerInTurn(inTurn, {
            after: (name, max) =>
              namesAfter({ transaction, statement: tenantsInTurn, of: [kind] }, name, max),
            share: eachBy((tenant, max) => takeOf(transaction, tenant, max)),
          }),
        );
    if (last !== undefined) this.#remember(kind, last);
    return claims;
  }

  async #takeOfTenant(transaction: JobTransaction<S>, tenant: TenantId, request: Claiming): Promise<Claim[]> {
    const { kind } = request;
    const max = Math.min(request.max, await this.#freeOf(transaction, tenant, request));
    const turn = `${kind}\n${tenant}`;
    const lanes = { transaction, statement: this.#statements.lanesInTurn, of: [kind, tenant], unnamed: true };
    const claims: Claim[] = [];
    const last = await offerInTurn(
      { last: this.#lastTurns.get(turn), max },
      {
        after: (lane, count) => namesAfter(lanes, lane, count),
        share: async (names, left, onOffer) => {
          const taken = await this.#takeOfLanes(
            transaction,
            { tenant, lanes: names },
            { ...request, max: left },
            onOffer,
          );
          claims.push(...taken);
          return left - taken.length;
        },
      },
    );
    if (last !== undefined) this.#remember(turn, last);
    return claims;
  }

  async #freeOf(
    transaction: JobTransaction<S>,
    tenant: TenantId,
    { kind, perTenant }: ClaimRequest,
  ): Promise<number> {
    if (perTenant === undefined) return Infinity;
    const [held] = await transaction.query(this.#statements.heldOfTenant, [kind, tenant]);
    return perTenant - numberOf(held, 'count');
  }

  #remember(turn: string, last: string): void {
    if (this.#lastTurns.size >= TURNS_MAX) this.#lastTurns.clear();
    this.#lastTurns.set(turn, last);
  }

  /** Each lane is offered a share; the number is decided for all of them before one statement takes the jobs. */
  async #takeOfLanes(
    transaction: JobTransaction<S>,
    { tenant, lanes }: LanesOf,
    request: Claiming,
    onOffer: (lane: string) => void,
  ): Promise<Claim[]> {
    const { kind, max, leaseMs, laneLeft, otherLanesMax = Infinity } = request;
    const leftOfLane = (lane: string) => laneLeft.get(laneKey(tenant, lane)) ?? otherLanesMax;
    const mayTake = lanes.filter((lane) => leftOfLane(lane) > 0);
    const rooms = await this.#roomsOf(transaction, { tenant, lanes: mayTake }, request);
    const taken = new Map<string, number>();
    await splitFairly(lanes, max, async (lane, most) => {
      onOffer(lane);
      const before = taken.get(lane) ?? 0;
      const more = Math.min(most, leftOfLane(lane) - before, (rooms.get(lane) ?? 0) - before);
      if (more > 0) taken.set(lane, before + more);
      return Math.max(0, more);
    });
    const asked = [...taken].map(([lane, most]) => ({ lane, most }));
    const claims: Claim[] = [];
    for (const portion of portionsOf(asked, this.#database.lanesAtOnce)) {
      const values = [kind, tenant, JSON.stringify(portion), leaseMs];
      const rows = await transaction.query(this.#statements.take, values);
      claims.push(...rows.map((row) => ({ job: jobIn(row), token: tokenIn(row) })));
    }
    for (const { job } of claims) laneLeft.set(laneKey(tenant, job.lane), leftOfLane(job.lane) - 1);
    return claims.sort((a, b) => compared(a.job, b.job));
  }

  /** How many jobs each of these lanes has to give now, of those that nobody else claims from at this moment. */
  async #roomsOf(
    transaction: JobTransaction<S>,
    { tenant, lanes }: LanesOf,
    { kind, max, perLane, parking }: Claiming,
  ): Promise<ReadonlyMap<string, number>> {
    if (lanes.length === 0) return new Map();
    const { lockLanes, lanesToClaim } = this.#statements;
    const asked = JSON.stringify(lanes.map((lane) => ({ lane })));
    // Sent together: each sees what was committed before it began, so the second one what the last holder of a lock has done.
    const [locks, found] = await Promise.all([
      lockLanes === undefined ? undefined : transaction.query(lockLanes, [kind, tenant, asked]),
      transaction.query(lanesToClaim, [tenant, kind, asked, Math.min(max, perLane)]),
    ]);
    const mine =
      locks && new Set(locks.flatMap((row) => (row['is_mine'] === true ? textIn(row, 'lane') : [])));
    const rooms = new Map<string, number>();
    for (const row of found) {
      const lane = textIn(row, 'lane');
      if (mine?.has(lane) === false) continue;
      const state = textIn(row, 'state');
      if (state === 'Closed') await parkJobs(transaction, this.#statements, { tenant, kind, lane }, parking);
      if (state !== 'Open') continue;
      const together = numberOf(row, 'placed') > 0 ? 1 : perLane;
      rooms.set(lane, Math.min(numberOf(row, 'waiting'), together - numberOf(row, 'held')));
    }
    return rooms;
  }
}

interface LanesOf {
  readonly tenant: TenantId;
  readonly lanes: readonly string[];
}

function laneKey(tenant: TenantId, lane: string): string {
  return `${tenant}\n${lane}`;
}

function leftOf({ laneLimits = [] }: ClaimRequest): Map<string, number> {
  return new Map(laneLimits.map(({ tenant, lane, max }) => [laneKey(tenant, lane), max]));
}

/** The tenants or lanes that a statement reads, in the order of their names. */
interface Names<S> {
  readonly transaction: JobTransaction<S>;
  readonly statement: S;
  readonly of: readonly JobValue[];
  /** Whether there is one without a name, which comes before all others. */
  readonly unnamed?: boolean;
}

/** At most `max` names in turn: those after this one, then from the beginning up to it. */
async function namesAfter<S>(
  { transaction, statement, of, unnamed = false }: Names<S>,
  last: string | undefined,
  max: number,
): Promise<string[]> {
  const read = async (after: string) => namesIn(await transaction.query(statement, [...of, after, max]));
  const behind = last === undefined ? [] : await read(last);
  if (behind.length >= max) return behind;
  const first = [...(unnamed ? [''] : []), ...(await read(''))];
  return [...behind, ...first.filter((name) => last === undefined || name <= last)].slice(0, max);
}

/** The same over names that have been read already, in their order. */
function inOrder(names: readonly string[]) {
  return async (last: string | undefined, max: number): Promise<string[]> => {
    const at = last === undefined ? 0 : names.filter((name) => name <= last).length;
    return [...names.slice(at), ...names.slice(0, at)].slice(0, max);
  };
}

interface Turns {
  readonly after: (last: string | undefined, max: number) => Promise<string[]>;
  /** Shares an amount among these names, and returns what is left of it. */
  readonly share: (
    names: readonly string[],
    amount: number,
    onOffer: (name: string) => void,
  ) => Promise<number>;
}

/** Each takes at once what it is offered. */
function eachBy(take: (name: string, most: number) => Promise<number>): Turns['share'] {
  return (names, amount, onOffer) =>
    splitFairly(names, amount, (name, most) => {
      onOffer(name);
      return take(name, most);
    });
}

/** If so many are busy, the next claim goes on behind them. */
const OFFERED_MAX = 100;

/**
 * Offers `max` fairly to the names in turn, and what they do not take to those after them: one that is busy must not keep
 * others waiting. Returns the last that was offered something.
 */
async function offerInTurn(
  { last, max }: { readonly last: string | undefined; readonly max: number },
  { after, share }: Turns,
): Promise<string | undefined> {
  const offered = new Set<string>();
  let turn = last;
  let left = max;
  while (left > 0 && offered.size < OFFERED_MAX) {
    const names = (await after(turn, left)).filter((name) => !offered.has(name));
    if (names.length === 0) break;
    left = await share(names, left, (name) => {
      offered.add(name);
      // One that is offered more in a second round has had its turn already.
      if (turn === undefined || names.indexOf(name) >= names.indexOf(turn)) turn = name;
    });
  }
  return turn;
}

function namesIn(rows: readonly JobRow[]): string[] {
  return rows.map((row) => textIn(row, 'name'));
}
