// Finds the logs that have grown beyond their published size, and reads them back: those in the shares that this node
// holds. Their ends are read each time, from one small table; published sizes are cached. Logs of a share that was just
// taken over are reported first, to be compared with the anchor, and read afterwards. If two nodes ever sign the same
// log, each has recomputed it: the first one stores its checkpoint, the other one's is skipped, and it continues from
// the stored state.

import type { TenantId } from '@tallystick/contract';
import { equalBytes, EvidenceError, HashPool } from '@tallystick/evidence';
import type { GrownLog, Growth, LogFault, PublishedLog, Standing, TreeHead } from '../../../streams/tree.ts';
import { GrowingTree, ROW_BYTES } from '../../tree/growing-tree.ts';
import type { LogIdentity } from '../../rows/log-identity.ts';
import { headIn, requireBegun, standingOf, unreadableStanding } from '../../tree/signed-tree.ts';
import type { Database } from '../connection/database.ts';
import { GrowingLogs, type LogEnd, LOGS_AT_ONCE, type StoredLog } from './growing-logs.ts';
import { HeldShares, type Leases } from '../nodes/held-shares.ts';
import type { Leased, PublishedState } from './tree-publisher.ts';
import type { SignedLog } from './tree-tables.ts';

/** A growing log: its tree, and its state. */
interface Growing {
  readonly log: LogIdentity;
  readonly share: number;
  readonly tree: GrowingTree;
  /** The head at a requested size, if the tree is already larger. */
  readonly passed: TreeHead | undefined;
}

/** The number of entries per read: a tenth of a second of work, and a few megabytes. */
const ENTRIES_MAX = 20_000;
const TREES_KEPT_MAX = 20_000;
/** The size that is recomputed without a pause: a few milliseconds. */
const PIECE_BYTES = 1024 * ROW_BYTES;

export class TreeGrowth {
  readonly #logs: GrowingLogs;
  readonly #held: HeldShares;
  /** The leases whose logs were reported as taken over, and are read; undefined: all. */
  #leases: Leases | undefined;
  readonly #pool = new HashPool();
  /** The most recently used come last. */
  readonly #trees = new Map<TenantId, Growing>();
  /** Logs with something to publish. */
  readonly #grown = new Map<TenantId, Growing>();
  /** The published size of each log as this process knows it, in the tenant's sequence. */
  readonly #published = new Map<TenantId, number>();
  readonly #faulty = new Set<TenantId>();
  readonly #stops = new Map<TenantId, number>();
  /** Faults that were found while publishing. */
  #faults: LogFault[] = [];
  #hasStood = false;
  #bytesAtOnce = 0;
  /** The next turn starts after this tenant. */
  #lastRead: TenantId = '';
  #last: Promise<unknown> = Promise.resolve();

  constructor(database: Database, logOrigin: string, held: HeldShares = HeldShares.all()) {
    this.#logs = new GrowingLogs(database, logOrigin);
    this.#held = held;
    this.#leases = held.current() && new Map();
  }

  /** The stored state of every log; logs that are ahead of their checkpoint will be read. */
  standings(): Promise<Standing[]> {
    return this.#inTurn(() => this.#stand(null));
  }

  /** Makes the result include the head at exactly this size. */
  stopAt(tenant: TenantId, size: number): Promise<void> {
    return this.#inTurn(async () => {
      this.#stops.set(tenant, size);
      // Read again: the tree may be beyond it.
      this.#forget(tenant);
    });
  }

  read(): Promise<Growth> {
    return this.#inTurn(() => this.#read());
  }

  /** These logs are stored up to these sizes, by this process or another. */
  published(states: readonly PublishedState[]): Promise<void> {
    return this.#inTurn(async () => {
      for (const state of states) this.#publishedOne(state);
    });
  }

  /** The signed sizes of logs that other nodes may sign. */
  async newestSizes(tenants: readonly TenantId[]): Promise<Map<TenantId, number>> {
    const sizes = new Map<TenantId, number>();
    for (const [tenant, signed] of await this.#logs.signed(tenants)) {
      const { latest } = signed();
      if (latest !== undefined) sizes.set(tenant, latest.size);
    }
    return sizes;
  }

  /** The lease under which each log must be published. */
  leased(logs: readonly PublishedLog[]): readonly Leased[] | undefined {
    const leases = this.#leases;
    if (leases === undefined) return undefined;
    return logs.map(({ tenant }) => {
      const share = this.#trees.get(tenant)?.share ?? -1;
      return { share, token: leases.get(share) ?? -1 };
    });
  }

  async #stand(shares: readonly number[] | null): Promise<Standing[]> {
    const found: Standing[] = [];
    for await (const stored of this.#logs.stored(shares)) {
      const { tenant } = stored;
      try {
        found.push(this.#standing(stored));
      } catch (error) {
        if (!(error instanceof Error)) throw error;
        found.push(unreadableStanding(tenant, this.#logs.tables.originOf(tenant, 0), error.message));
      }
    }
    this.#hasStood = true;
    return found;
  }

  #standing(stored: StoredLog): Standing {
    const { tenant } = stored;
    const { log, latest } = stored.signedLog();
    requireBegun(log, stored.firstEntry());
    const standing = standingOf(tenant, log, stored.lastIndex() + 1 - log.firstIndex, latest);
    if (latest !== undefined) this.#published.set(tenant, log.firstIndex + latest.size);
    return this.#leases === undefined || this.#held.current()?.has(stored.share)
      ? standing
      : { ...standing, isElsewhere: true };
  }

  /** Drops logs of lost shares; returns the logs of new shares, if there are any. */
  async #takeOver(): Promise<Standing[] | undefined> {
    const current = this.#held.current();
    if (current === undefined) return undefined;
    for (const [tenant, { share }] of this.#trees)
      if (current.get(share) !== this.#leases?.get(share)) this.#forget(tenant);
    const gained = [...current].filter(([share, token]) => this.#leases?.get(share) !== token);
    this.#leases = new Map([...current].filter(([share, token]) => this.#leases?.get(share) === token));
    if (gained.length === 0) return undefined;
    const taken = await this.#stand(gained.map(([share]) => share));
    this.#leases = current;
    return taken;
  }

  async #read(): Promise<Growth> {
    // Entries that were signed before are not growth.
    if (!this.#hasStood) await this.#stand(null);
    const taken = await this.#takeOver();
    if (taken !== undefined) return { grown: [], faults: [], hasMore: true, taken };
    const faults = this.#faults;
    const shares = this.#leases === undefined ? null : [...this.#leases.keys()];
    const all = await this.#logs.ends(shares, [...this.#stops.keys()]);
    const ends = this.#inOrder(all.filter((end) => this.#isBehind(end)));
    let room = ENTRIES_MAX;
    let looked = 0;
    while (looked < ends.length && room > 0) {
      const portion = ends.slice(looked, looked + LOGS_AT_ONCE);
      await this.#prepare(portion, faults);
      const { left, count } = await this.#readRuns(portion, room, faults);
      room = left;
      looked += count;
    }
    this.#faults = [];
    const grown = [...this.#grown].map(([tenant, growing]) => this.#grownOf(tenant, growing));
    const hasMore = ends.some((end) => this.#isBehind(end));
    for (const log of grown) if (log.isElsewhere) this.#letGo(log);
    return { grown, faults, hasMore };
  }

  #grownOf(tenant: TenantId, growing: Growing): GrownLog {
    const isElsewhere = this.#leases?.has(growing.share) === false;
    return { ...grownOf(tenant, growing), ...(isElsewhere ? { isElsewhere } : {}) };
  }

  /** Another node signs it: it was read only for its head at the requested size. */
  #letGo({ tenant, heads }: GrownLog): void {
    if ((this.#stops.get(tenant) ?? 0) > heads.at(-1)!.size) return;
    this.#stops.delete(tenant);
    this.#forget(tenant);
  }

  #isBehind({ tenant, endIndex }: LogEnd): boolean {
    if (this.#faulty.has(tenant)) return false;
    const growing = this.#trees.get(tenant);
    if (growing !== undefined) return endIndex > endOf(growing);
    return endIndex > (this.#published.get(tenant) ?? 0) || this.#stops.has(tenant);
  }

  /** A log that always has more than fits must not block the others. */
  #inOrder(ends: readonly LogEnd[]): LogEnd[] {
    const byName = ends.toSorted((one, other) => (one.tenant < other.tenant ? -1 : 1));
    const at = byName.findIndex(({ tenant }) => tenant > this.#lastRead);
    return at < 0 ? byName : [...byName.slice(at), ...byName.slice(0, at)];
  }

  /** Loads the trees of these current logs, rebuilt as they were last signed. */
  async #prepare(portion: readonly LogEnd[], faults: LogFault[]): Promise<void> {
    const signed = await this.#logs.signed(portion.map(({ tenant }) => tenant));
    const shares = new Map(portion.map(({ tenant, share }) => [tenant, share]));
    const missing: SignedLog[] = [];
    for (const { tenant } of portion) {
      this.#orFault(tenant, faults, () => {
        const found = signed.get(tenant)!();
        // The log was continued after a restore meanwhile: the unsigned part of the previous log never will be signed.
        if (this.#trees.get(tenant)?.log.epoch !== found.log.epoch) this.#forget(tenant);
        if (!this.#trees.has(tenant)) missing.push(found);
      });
    }
    const states = await this.#logs.trees(missing);
    for (const [i, found] of missing.entries()) {
      const { tenant } = found.log;
      const passed = await this.#passed(found, faults);
      this.#orFault(tenant, faults, () => {
        const tree = new GrowingTree(states[i]!(), this.#pool);
        const stop = this.#stops.get(tenant);
        if (stop !== undefined) tree.stopAt(stop);
        this.#keep(tenant, { log: found.log, share: shares.get(tenant)!, tree, passed });
      });
    }
  }

  /** The head at the requested size, if the log is already signed up to it or further. */
  async #passed({ log, latest }: SignedLog, faults: LogFault[]): Promise<TreeHead | undefined> {
    const stop = this.#stops.get(log.tenant);
    if (stop === undefined || latest === undefined || stop > latest.size) return undefined;
    try {
      return await this.#logs.headWithin(log, latest, stop);
    } catch (error) {
      if (!(error instanceof EvidenceError)) throw error;
      this.#fault(log.tenant, error.message, faults);
      return undefined;
    }
  }

  #keep(tenant: TenantId, growing: Growing): void {
    if (this.#trees.size >= TREES_KEPT_MAX) this.#forgetOldest();
    this.#trees.set(tenant, growing);
    const isNews = endOf(growing) > (this.#published.get(tenant) ?? 0) || this.#stops.has(tenant);
    if (isNews && growing.tree.size > 0) this.#grown.set(tenant, growing);
  }

  async #readRuns(portion: readonly LogEnd[], roomBefore: number, faults: LogFault[]) {
    let left = roomBefore;
    let count = 0;
    const requests = [];
    for (const { tenant, endIndex } of portion) {
      const growing = this.#trees.get(tenant);
      if (left === 0) break;
      count++;
      this.#lastRead = tenant;
      const fromIndex = growing === undefined ? endIndex : endOf(growing);
      const taken = Math.min(left, endIndex - fromIndex);
      if (taken <= 0) continue;
      requests.push({ tenant, fromIndex, endIndex: fromIndex + taken });
      left -= taken;
    }
    const runs = await this.#logs.runs(requests);
    for (const [i, { tenant }] of requests.entries()) await this.#take(tenant, runs[i]!, faults);
    return { left, count };
  }

  async #take(tenant: TenantId, run: () => Uint8Array, faults: LogFault[]): Promise<void> {
    let rows: Uint8Array = new Uint8Array();
    this.#orFault(tenant, faults, () => (rows = run()));
    for (let at = 0; at < rows.length; at += PIECE_BYTES) {
      await this.#pause(Math.min(PIECE_BYTES, rows.length - at));
      this.#orFault(tenant, faults, () => {
        const growing = this.#trees.get(tenant)!;
        growing.tree.take(rows.subarray(at, at + PIECE_BYTES));
        this.#grown.set(tenant, growing);
        // Used last, kept longest.
        this.#trees.delete(tenant);
        this.#trees.set(tenant, growing);
      });
    }
  }

  /** Other work of this process gets a turn after this much recomputation. */
  async #pause(bytes: number): Promise<void> {
    this.#bytesAtOnce += bytes;
    if (this.#bytesAtOnce <= PIECE_BYTES) return;
    this.#bytesAtOnce = bytes;
    await new Promise((resolve) => setImmediate(resolve));
  }

  #publishedOne({ tenant, epoch, size, newest, isOwn, isLost }: PublishedState): void {
    const growing = this.#trees.get(tenant);
    if (growing === undefined || growing.log.epoch !== epoch) return;
    if (isLost) {
      this.#forget(tenant);
      return;
    }
    const { log, tree } = growing;
    if (size > tree.size) return;
    this.#published.set(tenant, log.firstIndex + size);
    if ((this.#stops.get(tenant) ?? Number.POSITIVE_INFINITY) <= size) this.#stops.delete(tenant);
    if (newest !== undefined && newest.size > tree.size) {
      // Another node was faster, so its checkpoint is the new starting point.
      this.#forget(tenant);
      return;
    }
    tree.published(size);
    if (tree.size > size) return;
    this.#grown.delete(tenant);
    this.#trees.set(tenant, { ...growing, passed: undefined });
    // At one size a log has one root, for every signer.
    const other = isOwn || newest?.size !== size ? undefined : headIn(newest.note)?.root;
    if (other !== undefined && !equalBytes(other, tree.pending().heads.at(-1)!.root))
      this.#fault(tenant, `at size ${size} it was signed with another root than it has`, this.#faults);
  }

  /** A faulty log is not read again: later entries would build on the fault. */
  #orFault(tenant: TenantId, faults: LogFault[], work: () => void): void {
    if (this.#faulty.has(tenant)) return;
    try {
      work();
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      this.#fault(tenant, error.message, faults);
    }
  }

  #fault(tenant: TenantId, message: string, faults: LogFault[]): void {
    this.#faulty.add(tenant);
    this.#forget(tenant);
    faults.push({ tenant, message });
  }

  #forget(tenant: TenantId): void {
    this.#trees.delete(tenant);
    this.#grown.delete(tenant);
  }

  #forgetOldest(): void {
    for (const tenant of this.#trees.keys()) {
      if (this.#grown.has(tenant)) continue;
      this.#trees.delete(tenant);
      return;
    }
  }

  /** One after the other: concurrent calls must not read the same rows twice. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(work);
    this.#last = turn.catch(() => {});
    return turn;
  }
}

/** In the tenant's sequence. */
function endOf({ log, tree }: Growing): number {
  return log.firstIndex + tree.size;
}

function grownOf(tenant: TenantId, { log, tree, passed }: Growing): GrownLog {
  const { heads, tileHashes } = tree.pending();
  const isAmong = heads.some(({ size }) => size === passed?.size);
  return {
    tenant,
    epoch: log.epoch,
    heads: passed === undefined || isAmong ? heads : [passed, ...heads],
    tileHashes,
  };
}
