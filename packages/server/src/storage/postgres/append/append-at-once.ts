// Appends a pool in one round trip, without locking its logs first: it is decided with the cached heads, while the
// previous pool is still being committed, and stored only in logs whose heads are up to date. Keys and ids of callers are
// taken for new, and nothing is stored in a log that has one of them. The remaining requests are repeated with locked
// heads. Not for requests with records, jobs, notices that remove content or `holdsAsOf`. Logs that another node writes to at the same time, or whose
// callers repeat themselves, are excluded, since attempts would mostly fail.

import type { TenantId } from '@tallystick/contract';
import type { Clock } from '../../../runtime/clock.ts';
import type { AppendOutcome, AppendTime } from '../../../streams/log.ts';
import type { PooledRequest } from '../../pool/append-message.ts';
import type { PoolCommitments } from '../../pool/pool-commitments.ts';
import { isRemoval, PoolWriter } from '../../pool/pool-writer.ts';
import type { StreamWriterOptions } from '../../pool/stream-writer.ts';
import { textIn } from '../../rows/columns.ts';
import type { ContentMonths } from '../schema/content-months.ts';
import type { KnownDecisions } from './decisions.ts';
import type { Heads } from './heads.ts';
import type { Pipeline } from '../connection/pipeline.ts';
import { FEW_TENANTS, PLANNED_FOR_MANY, WRITE_AT_ONCE, WRITE_MANY_AT_ONCE } from './pool-statements.ts';
import { PostgresPoolTables } from './pool-tables.ts';

/** A request with its position in the pool and the row of its first draft in the commitments. */
export interface Numbered {
  readonly request: PooledRequest;
  readonly place: number;
  readonly firstRow: number;
}

export interface Given {
  readonly commitments: PoolCommitments;
  readonly now: AppendTime;
}

export interface SentPool {
  /** The outcome of each request, by position, if it is stored. */
  readonly decided: ReadonlyMap<number, AppendOutcome>;
  /**
   * The tenants whose requests are durable. If it rejects, the state of the commit is unknown, unless the tables
   * refused it.
   */
  readonly stored: Promise<ReadonlySet<TenantId>>;
}

export interface AppendAtOnceParts {
  readonly pipeline: Pipeline;
  readonly heads: Heads;
  readonly months: Pick<ContentMonths, 'hasAll'>;
  readonly decisions: KnownDecisions;
  readonly writing: StreamWriterOptions;
  readonly clock: Pick<Clock, 'monotonicNs'>;
}

/** After a cached head was found outdated, or an id or key taken, the log is locked first for this long. */
const SHARED_MS = 1000;
const SHARED_MAX = 10_000;

export function canBeAtOnce(open: readonly Numbered[]): boolean {
  return open.every(
    ({ request: { drafts, records, jobs, holdsAsOf } }) =>
      records.length === 0 && jobs.length === 0 && holdsAsOf === undefined && !drafts.some(isRemoval),
  );
}

/** Sorted, to prevent deadlocks. */
export function tenantsOf(open: readonly Numbered[]): TenantId[] {
  return [...new Set(open.map(({ request }) => request.tenant))].sort();
}

export class AppendAtOnce {
  readonly #parts: AppendAtOnceParts;
  /** Logs that others have written to, or with repeats, and when that was noticed. */
  readonly #sharedNs = new Map<TenantId, number>();

  constructor(parts: AppendAtOnceParts) {
    this.#parts = parts;
  }

  /** Reports logs in which nothing was stored: the cached heads are outdated. */
  missed(tenants: readonly TenantId[]): void {
    if (this.#sharedNs.size > SHARED_MAX) this.#sharedNs.clear();
    const nowNs = this.#parts.clock.monotonicNs();
    for (const tenant of tenants) this.#sharedNs.set(tenant, nowNs);
    this.#parts.heads.forget(tenants);
  }

  /** Undefined, and nothing is sent, if a log is shared with other writers, or its head, a partition, a decision or a data key is unknown here. */
  send(open: readonly Numbered[], { commitments, now }: Given): SentPool | undefined {
    const { pipeline, heads, months, decisions, writing } = this.#parts;
    const tenants = tenantsOf(open);
    if (tenants.some((tenant) => this.#isShared(tenant))) return undefined;
    const remembered = heads.remembered(tenants);
    if (remembered === undefined) return undefined;
    const tables = new PostgresPoolTables(remembered, decisions);
    const writer = new PoolWriter(tables, writing);
    const decided = new Map<number, AppendOutcome>();
    for (const { request, place, firstRow } of open)
      decided.set(place, writer.append(request, { commitments, firstRow, now }));
    const { rows: own } = tables;
    if (!months.hasAll(own.months) || !own.decisions.areKnown || own.missingKeys.length > 0) return undefined;
    const values = tables.rows.valuesAtOnce(remembered.heads.values());
    const scope = { role: 'Writer', tenants } as const;
    const rows =
      tenants.length > FEW_TENANTS
        ? pipeline.commit(scope, WRITE_MANY_AT_ONCE, values, PLANNED_FOR_MANY)
        : pipeline.commit(scope, WRITE_AT_ONCE, values);
    heads.remember(remembered.heads.values());
    const stored = rows.then((all) => new Set(all.map((row) => textIn(row, 'tenant_id'))));
    const reached = new Map([...remembered.heads].map(([tenant, { head }]) => [tenant, head.nextIndex]));
    return {
      decided,
      stored: stored.then((tenants) => {
        for (const tenant of tenants) heads.reached(tenant, reached.get(tenant)!);
        return tenants;
      }),
    };
  }

  #isShared(tenant: TenantId): boolean {
    const sinceNs = this.#sharedNs.get(tenant);
    if (sinceNs === undefined) return false;
    if (this.#parts.clock.monotonicNs() - sinceNs < SHARED_MS * 1e6) return true;
    this.#sharedNs.delete(tenant);
    return false;
  }
}
