// Lanes in tables, with the same code for both backends. Jobs of a closed lane are parked, a portion with each claim that meets them,
// and come back in portions once it is open: so neither costs a claim more than a moment, however many there are.

import type { TenantId } from '@tallystick/contract';
import type { Backlog, ClaimRequest, Job, JobKind, JobState, NewJob, TenantJobs } from '../../work/jobs.ts';
import type {
  Lane,
  LaneClosing,
  LaneKind,
  LaneNews,
  LaneOpening,
  LaneRef,
  Parking,
} from '../../work/lanes.ts';
import { numberOf, numberOrNone, textIn, textOrNone } from '../rows/columns.ts';
import { LAST_ID } from '../rows/last-id.ts';
import { RECORDS_COUNTED_MAX } from '../rows/record-row.ts';
import type { JobDatabase, JobRow, JobTransaction, JobValue } from './job-database.ts';
import { jobIn } from './job-row.ts';
import type { JobStatements } from './job-statements.ts';
import { LANE_STATES } from './lane-statements.ts';

/** One of which nothing was ever said. */
const NEW_LANE: Lane = { isOpen: true, failures: 0, sinceMs: undefined, note: undefined };
const PORTION = 1000;
const LOOKED_AT_MAX = 1000;
/** Lanes that get jobs back with one claim. */
const REFILLED_MAX = 20;
/** "For ever", in the columns of both backends. */
const EVER_MS = 1e14;

export class LaneTables<S> {
  readonly #database: JobDatabase<S>;
  readonly #statements: JobStatements<S>;

  constructor(database: JobDatabase<S>) {
    this.#database = database;
    this.#statements = database.statements;
  }

  async jobs(
    tenant: TenantId,
    { kind, lane, states, way, beyond, limit }: Parameters<TenantJobs['jobsOfLane']>[0],
  ): Promise<Job[]> {
    const { jobsOfLaneBefore, jobsOfLaneAfter } = this.#statements;
    const asked = [tenant, kind, lane, ...areAsked(states)];
    const rows =
      way === 'Falling'
        ? await this.#read(tenant, jobsOfLaneBefore, [...asked, beyond ?? LAST_ID, limit])
        : await this.#read(tenant, jobsOfLaneAfter, [...asked, beyond ?? '', limit]);
    return rows.map(jobIn);
  }

  async jobCount(
    tenant: TenantId,
    { kind, lane, states }: Parameters<TenantJobs['jobCountOfLane']>[0],
  ): Promise<number> {
    const asked = [tenant, kind, lane, ...areAsked(states)];
    const [row] = await this.#read(tenant, this.#statements.jobCountOfLane, asked);
    return Math.min(numberOf(row, 'count'), RECORDS_COUNTED_MAX);
  }

  async find(tenant: TenantId, kind: LaneKind, lanes: readonly string[]): Promise<Lane[]> {
    const rows = await this.#read(tenant, this.#statements.lanes, [tenant, kind, JSON.stringify(lanes)]);
    const found = new Map(rows.map((row) => [textIn(row, 'lane'), laneIn(row)]));
    return lanes.map((lane) => found.get(lane) ?? NEW_LANE);
  }

  /** Undefined: of all tenants. */
  backlog(tenant: TenantId | undefined, kind: JobKind): Promise<Backlog> {
    const { backlog, backlogOfAll, closedLanes, closedLanesOfAll } = this.#statements;
    const [of, counts, closed] =
      tenant === undefined
        ? [[kind], backlogOfAll, closedLanesOfAll]
        : [[kind, tenant], backlog, closedLanes];
    const scope = tenant === undefined ? 'All' : { tenant, isRead: true as const };
    return this.#database.inTransaction(scope, async (transaction) => {
      const [row] = await transaction.query(counts, of);
      const lanes = await transaction.query(closed, of);
      return {
        open: numberOf(row, 'open_count'),
        waitingSinceMs: numberOrNone(row, 'waiting_since_ms'),
        nowMs: numberOf(row, 'now_ms'),
        closedLanes: lanes.map((lane) => ({
          note: textOrNone(lane, 'note') ?? '',
          count: numberOf(lane, 'count'),
        })),
      };
    });
  }

  overdue(kind: JobKind, byMs: number): Promise<(LaneRef & { readonly tenant: TenantId }) | undefined> {
    const { firstWaiting, someHeld, quietLanes } = this.#statements;
    return this.#database.inTransaction('All', async (transaction) => {
      const waiting = await transaction.query(firstWaiting, [kind, LOOKED_AT_MAX, byMs]);
      if (waiting.length === 0) return undefined;
      const [held] = await transaction.query(someHeld, [kind]);
      if (numberOf(held, 'count') > 0) return undefined;
      const nameOf = (row: JobRow) => `${textIn(row, 'tenant_id')} ${textIn(row, 'lane')}`;
      const quiet = new Set((await transaction.query(quietLanes, [kind])).map(nameOf));
      const row = waiting.find((each) => !quiet.has(nameOf(each)));
      return row && { tenant: textIn(row, 'tenant_id'), kind, lane: textIn(row, 'lane') };
    });
  }

  change(tenant: TenantId, lane: LaneRef, news: LaneOpening | LaneClosing): Promise<boolean> {
    return this.#database.inTransaction({ tenant }, async (transaction) => {
      const [statement, values] = this.#changing(news);
      return (await transaction.change(statement, [tenant, lane.kind, lane.lane, ...values])) > 0;
    });
  }

  remove(tenant: TenantId, { kind, lane }: LaneRef): Promise<boolean> {
    return this.#database.inTransaction({ tenant }, async (transaction) => {
      const { removeJobsOfLane, removeLane } = this.#statements;
      const isMore = (await transaction.change(removeJobsOfLane, [tenant, kind, lane, PORTION])) >= PORTION;
      if (!isMore) await transaction.change(removeLane, [tenant, kind, lane]);
      return isMore;
    });
  }

  /** As part of a larger transaction; returns the jobs to enqueue in it. In the order of lanes: two that say something of the same ones do not deadlock. */
  async takeAll(
    transaction: JobTransaction<S>,
    all: readonly { readonly tenant: TenantId; readonly news: LaneNews }[],
  ): Promise<readonly NewJob[]> {
    const jobs: NewJob[] = [];
    const kindOf = ({ tenant, news }: (typeof all)[number]) => `${tenant}\n${news.kind}`;
    const kinds = [...Map.groupBy(all, kindOf)].sort(([a], [b]) => (a < b ? -1 : 1));
    for (const [, some] of kinds) {
      const { tenant } = some[0]!;
      // Most often all of them work, and nothing has to be changed.
      if (some.every(({ news }) => news.status === 'Works'))
        await this.#work(
          transaction,
          tenant,
          some.map(({ news }) => news),
        );
      else
        for (const { news } of some.toSorted((a, b) => compareNames(a.news.lane, b.news.lane)))
          jobs.push(...(await this.#take(transaction, tenant, news)));
    }
    return jobs;
  }

  async #work(transaction: JobTransaction<S>, tenant: TenantId, refs: readonly LaneRef[]): Promise<void> {
    const lanes = [...new Set(refs.map(({ lane }) => lane))].sort();
    await transaction.change(this.#statements.works, [tenant, refs[0]!.kind, JSON.stringify(lanes)]);
  }

  async #take(transaction: JobTransaction<S>, tenant: TenantId, news: LaneNews): Promise<readonly NewJob[]> {
    const of = [tenant, news.kind, news.lane];
    const { fails, rests } = this.#statements;
    switch (news.status) {
      case 'Works':
        await this.#work(transaction, tenant, [news]);
        return [];
      case 'Rests':
        await transaction.change(rests, [...of, news.forMs]);
        return [];
      case 'Fails': {
        const [row] = await transaction.query(fails, of);
        if (row === undefined || numberOf(row, 'failures') < news.failuresMax) return [];
        const closing: LaneClosing = { status: 'Closes', note: news.note, ifOpen: true };
        const [statement, values] = this.#changing(closing);
        return (await transaction.change(statement, [...of, ...values])) > 0 ? news.jobs : [];
      }
      case 'Opens':
      case 'Closes': {
        const [statement, values] = this.#changing(news);
        await transaction.change(statement, [...of, ...values]);
        return [];
      }
    }
  }

  #changing(news: LaneOpening | LaneClosing): [S, JobValue[]] {
    const { opens, closes, closesAgain } = this.#statements;
    if (news.status === 'Opens') return [opens, [news.ifNote ?? null]];
    const { note, ifOpen, ifNote } = news;
    return ifNote === undefined ? [closes, [note, ifOpen ? 1 : 0]] : [closesAgain, [note, ifNote]];
  }

  /** As part of a larger transaction: what `refill` changes. */
  async toRefill(
    transaction: JobTransaction<S>,
    { kind, parking }: ClaimRequest,
  ): Promise<Refilling | undefined> {
    if (parking === undefined) return undefined;
    const { lanesToRefill, overParked } = this.#statements;
    const [over, lanes] = await Promise.all([
      transaction.query(overParked, [kind, PORTION]),
      transaction.query(lanesToRefill, [kind, REFILLED_MAX]),
    ]);
    return { parking, over: byTenant(over), lanes: byTenant(lanes) };
  }

  /** Before a claim: what was parked comes back to lanes that are open again, and leaves those that have been closed for too long. */
  async refill({ kind }: ClaimRequest, found: Refilling | undefined): Promise<void> {
    if (found === undefined) return;
    const { reason, letterMs } = found.parking;
    await this.#forEachTenant(found.over, async (transaction, row) => {
      const values = [row.tenant, textIn(row, 'job_id'), reason, letterMs];
      await transaction.change(this.#statements.buryParked, values);
    });
    await this.#forEachTenant(found.lanes, (transaction, row) =>
      this.#unpark(transaction, { tenant: row.tenant, kind, lane: textIn(row, 'lane') }),
    );
  }

  async #unpark(transaction: JobTransaction<S>, { tenant, kind, lane }: LaneOf): Promise<void> {
    const { lockLanes, unpark, hasNoneParked } = this.#statements;
    if (lockLanes !== undefined) {
      const [lock] = await transaction.query(lockLanes, [kind, tenant, JSON.stringify([{ lane }])]);
      if (lock?.['is_mine'] !== true) return;
    }
    const changed = await transaction.change(unpark, [tenant, kind, lane, PORTION]);
    if (changed < PORTION) await transaction.change(hasNoneParked, [tenant, kind, lane]);
  }

  async #forEachTenant(
    rows: readonly TenantRow[],
    work: (transaction: JobTransaction<S>, row: TenantRow) => Promise<void>,
  ): Promise<void> {
    for (const [, some] of Map.groupBy(rows, ({ tenant }) => tenant))
      await this.#database.inTransaction('All', async (transaction) => {
        for (const row of some) await work(transaction, row);
      });
  }

  #read(tenant: TenantId, statement: S, values: readonly JobValue[]): Promise<JobRow[]> {
    return this.#database.inTransaction({ tenant, isRead: true }, (transaction) =>
      transaction.query(statement, values),
    );
  }
}

type TenantRow = JobRow & { readonly tenant: TenantId };

interface Refilling {
  readonly parking: Parking;
  /** Parked jobs that have waited for too long. */
  readonly over: readonly TenantRow[];
  readonly lanes: readonly TenantRow[];
}

function byTenant(rows: readonly JobRow[]): TenantRow[] {
  return rows
    .map((row) => ({ ...row, tenant: textIn(row, 'tenant_id') }))
    .sort((a, b) => compareNames(a.tenant, b.tenant));
}

function compareNames(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

interface LaneOf extends LaneRef {
  readonly tenant: TenantId;
}

/** As part of a claim, which has the lane alone. */
export async function parkJobs<S>(
  transaction: JobTransaction<S>,
  { park, hasParked }: JobStatements<S>,
  { tenant, kind, lane }: LaneOf,
  parking: Parking | undefined,
): Promise<void> {
  const of = [tenant, kind, lane];
  const parked = await transaction.change(park, [...of, PORTION, parking?.waitMs ?? EVER_MS]);
  if (parked > 0) await transaction.change(hasParked, of);
}

function laneIn(row: JobRow): Lane {
  return {
    isOpen: numberOf(row, 'is_open') === 1,
    failures: numberOf(row, 'failures'),
    sinceMs: numberOf(row, 'since_ms'),
    note: textOrNone(row, 'note'),
  };
}

function areAsked(states: readonly JobState[] = LANE_STATES): number[] {
  return LANE_STATES.map((state) => Number(states.includes(state)));
}
