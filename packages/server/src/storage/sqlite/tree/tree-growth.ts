// Finds the logs that have grown since their last checkpoint and reads them back. New entries are found by the row ids
// since the last read, at a cost that does not depend on the number of idle tenants; entries that an earlier run left
// without a checkpoint are found once, at the start.

import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { TenantId } from '@tallystick/contract';
import { EvidenceError, HashPool } from '@tallystick/evidence';
import type { GrownLog, Growth, LogFault, PublishedLog, Standing } from '../../../streams/tree.ts';
import { GrowingTree, ROW_BYTES, type TreeState } from '../../tree/growing-tree.ts';
import { numberOf, textIn } from '../../rows/columns.ts';
import {
  requireBegun,
  signedTree,
  standingOf,
  subtreesAt,
  unreadableStanding,
  unsignedTree,
} from '../../tree/signed-tree.ts';
import { type EntryRun, EntryRows, requireWhole } from '../append/entry-rows.ts';
import { type LogIdentity, TreeTables } from './tree-tables.ts';

/** A growing log: its tree, and its state. */
interface Growing {
  readonly tenantId: TenantId;
  readonly log: LogIdentity;
  readonly tree: GrowingTree;
}

type Row = Readonly<Record<string, unknown>>;

export type PublishedSize = readonly [tenant: TenantId, size: number];

/** The number of entries per read: a tenth of a second of work, and a few megabytes. */
const ENTRIES_MAX = 20_000;
const TREES_KEPT_MAX = 20_000;

export class TreeGrowth {
  readonly #tables: TreeTables;
  readonly #tenantId: StatementSync;
  readonly #rows: EntryRows;
  readonly #lastRow: StatementSync;
  readonly #standings: StatementSync;
  readonly #pool = new HashPool();
  /** By the tenant's number; the most recently used come last. */
  readonly #trees = new Map<number, Growing>();
  /** Logs with entries that a read of new rows does not find. */
  readonly #behind = new Set<number>();
  /** Logs with something to publish. */
  readonly #grown = new Map<TenantId, Growing>();
  readonly #faulty = new Set<number>();
  readonly #stops = new Map<TenantId, number>();
  #lastSeenRow: number | undefined;

  constructor(db: DatabaseSync, logOrigin: string) {
    this.#tables = new TreeTables(db, logOrigin);
    this.#tenantId = db.prepare('SELECT tenant_id FROM tenants WHERE tenant = ?');
    this.#rows = new EntryRows(db);
    this.#lastRow = db.prepare('SELECT coalesce(max(id), 0) AS id FROM entries');
    this.#standings = db.prepare(
      `SELECT tenant, tenant_id, (SELECT max(leaf_index) FROM entries WHERE entries.tenant = tenants.tenant) AS last
       FROM tenants WHERE last IS NOT NULL`,
    );
    // Otherwise a number that is too large would throw, and affect all logs.
    this.#standings.setReadBigInts(true);
  }

  /** The stored state of every log; logs that are ahead of their checkpoint will be read. */
  standings(): Standing[] {
    // Read before the logs: entries in between are seen twice rather than never.
    this.#lastSeenRow ??= numberOf(this.#lastRow.get(), 'id');
    const found: Standing[] = [];
    for (const row of this.#standings.iterate()) {
      const tenant = textIn(row, 'tenant_id');
      try {
        found.push(this.#standing(tenant, row));
      } catch (error) {
        if (!isOfOneLog(error)) throw error;
        found.push(unreadableStanding(tenant, this.#tables.originOf(tenant, 0), error.message));
      }
    }
    return found;
  }

  #standing(tenantId: TenantId, row: Row): Standing {
    const log = this.#tables.log(tenantId)!;
    const entries = numberOf(row, 'last') + 1 - log.firstIndex;
    requireBegun(log, log.epoch === 0 ? undefined : this.#tables.entries(log, 0, 1)[0]?.entry);
    const latest = this.#tables.latest(log);
    const standing = standingOf(tenantId, log, entries, latest);
    if (entries > (latest?.size ?? 0)) this.#behind.add(log.tenant);
    return standing;
  }

  /** Makes the result include the head at exactly this size. */
  stopAt(tenant: TenantId, size: number): void {
    this.#stops.set(tenant, size);
  }

  read(): Growth {
    const faults: LogFault[] = [];
    this.#readBehind(faults);
    const isMoreNew = this.#readNew(faults);
    const hasMore = isMoreNew || this.#behind.size > 0;
    const grown = [...this.#grown.values()].map(
      ({ tenantId, log, tree }): GrownLog => ({ tenant: tenantId, epoch: log.epoch, ...tree.pending() }),
    );
    return { grown, faults, hasMore };
  }

  /** These logs are stored up to these sizes. */
  published(sizes: readonly PublishedSize[]): void {
    for (const [tenantId, size] of sizes) this.#publishedOne(tenantId, size);
  }

  #publishedOne(tenantId: TenantId, size: number): void {
    const growing = this.#grown.get(tenantId);
    growing?.tree.published(size);
    if (growing?.tree.size === size) this.#grown.delete(tenantId);
  }

  /** Reads as many of the logs that are behind as fit into a turn, the last one possibly in part. */
  #readBehind(faults: LogFault[]): void {
    let room = ENTRIES_MAX;
    for (const tenant of this.#behind) {
      if (room === 0) return;
      const taken = this.#orFault(tenant, faults, () => {
        const { log, tree } = this.#growing(tenant);
        const run = this.#rows.from(tenant, log.firstIndex + tree.size, room);
        if (run !== undefined) this.#take(tenant, run, 0);
        return run === undefined ? 0 : run.rows.length / ROW_BYTES;
      });
      if ((taken ?? 0) < room) this.#behind.delete(tenant);
      room -= taken ?? 0;
    }
  }

  #readNew(faults: LogFault[]): boolean {
    const { runs, lastId, count } = this.#rows.behind((this.#lastSeenRow ??= 0), ENTRIES_MAX);
    for (const run of runs) {
      const { tenant } = run;
      this.#orFault(tenant, faults, () => {
        const { log, tree } = this.#growing(tenant);
        const firstIndex = run.firstIndex - log.firstIndex;
        // Some may have been read already when the log was behind.
        if (firstIndex > tree.size) this.#behind.add(tenant);
        else this.#take(tenant, run, tree.size - firstIndex);
      });
    }
    this.#lastSeenRow = lastId;
    return count === ENTRIES_MAX;
  }

  /** Skips the first rows, which are known. */
  #take(tenant: number, run: EntryRun, known: number): void {
    requireWhole(run);
    const rows = run.rows.subarray(known * ROW_BYTES);
    if (rows.length === 0) return;
    const growing = this.#growing(tenant);
    growing.tree.take(rows);
    this.#grown.set(growing.tenantId, growing);
  }

  /** A faulty log is not read again: later entries would build on the fault. */
  #orFault<T>(tenant: number, faults: LogFault[], work: () => T): T | undefined {
    if (this.#faulty.has(tenant)) return undefined;
    try {
      return work();
    } catch (error) {
      if (!isOfOneLog(error)) throw error;
      const tenantId = this.#trees.get(tenant)?.tenantId ?? this.#nameOf(tenant);
      this.#faulty.add(tenant);
      this.#grown.delete(tenantId);
      this.#trees.delete(tenant);
      faults.push({ tenant: tenantId, message: error.message });
      return undefined;
    }
  }

  #growing(tenant: number): Growing {
    const known = this.#trees.get(tenant);
    if (known !== undefined) return known;
    this.#forgetOld();
    const tenantId = this.#nameOf(tenant);
    const log = this.#tables.log(tenantId);
    if (log === undefined)
      throw new EvidenceError('MALFORMED', `there are entries of ${tenantId}, which does not exist`);
    const tree = new GrowingTree(this.#publishedState(log), this.#pool);
    const stop = this.#stops.get(tenantId);
    if (stop !== undefined) tree.stopAt(stop);
    const growing = { tenantId, log, tree };
    this.#trees.set(tenant, growing);
    return growing;
  }

  #forgetOld(): void {
    if (this.#trees.size < TREES_KEPT_MAX) return;
    for (const [tenant, { tenantId }] of this.#trees) {
      if (this.#grown.has(tenantId)) continue;
      this.#trees.delete(tenant);
      return;
    }
  }

  /** The tree as it was last signed, rebuilt from stored hashes: it must still have the signed root. */
  #publishedState(log: LogIdentity): TreeState {
    const latest = this.#tables.latest(log);
    if (latest === undefined) return unsignedTree(log);
    const { size } = latest;
    const subtrees = subtreesAt(size, this.#tables.hashes(log, size));
    return signedTree(log, latest, subtrees, this.#tables.entries(log, size - 1, 1)[0]?.leaf);
  }

  #nameOf(tenant: number): TenantId {
    const row = this.#tenantId.get(tenant);
    return row === undefined ? `number ${tenant}` : textIn(row, 'tenant_id');
  }
}

/** Disk errors concern all logs; any other error concerns one log, and must not block the others. */
function isOfOneLog(error: unknown): error is Error {
  return error instanceof Error && !('errcode' in error);
}

/** The largest published size of each log. */
export function publishedSizes(logs: readonly PublishedLog[]): PublishedSize[] {
  return logs.map(({ tenant, checkpoints }) => [tenant, checkpoints.at(-1)?.size ?? 0]);
}
