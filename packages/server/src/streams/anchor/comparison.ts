// Compares the store with the anchor, log by log: for the checkpointer, which refuses logs that do not agree, and for
// the command that continues openly after a restore. Most logs are decided at once. A log whose anchored head is not
// stored as a checkpoint is read back first, and `judge` decides it on the way.
//
// Other nodes may sign, anchor and store meanwhile. An anchored head was committed before, and a stored checkpoint was
// anchored before. So a store is behind only if it has less than the anchor had earlier, and an anchor is outdated only
// if it has less than the store had earlier. Each is read in that order.

import type { TenantId } from '@tallystick/contract';
import { equalBytes, EvidenceError, logNamed } from '@tallystick/evidence';
import type { Telemetry } from '../../telemetry.ts';
import type { GrownLog, Standing, TreeWriter, TreesWith } from '../tree.ts';
import type { AnchoredHead, AnchorHistory, ReadAnchor } from './anchor.ts';
import { findDivergence, type Divergence, divergenceAt, divergenceMessage, rootOf } from './divergence.ts';
import { findUnanchored, type UnanchoredLog } from './unanchored.ts';

export interface ComparisonParts {
  readonly tree: Pick<TreeWriter, 'standings' | 'stopAt'> & TreesWith<'tree'>;
  readonly anchor: ReadAnchor;
  readonly telemetry: Pick<Telemetry, 'warn'>;
  /** The name of the installation. All of its origins begin with it. */
  readonly logOrigin: string;
}

/** The head of one of a tenant's logs. */
export interface AnchoredLog extends AnchoredHead {
  readonly epoch: number;
}

/** A tenant whose log differs from the signed one. */
export interface Disagreement {
  readonly tenant: TenantId;
  /** The newest anchored head. */
  readonly anchored: AnchoredLog;
  /** The store has less than was signed (`Behind`) or something else (`OtherHistory`), which cannot continue even openly. */
  readonly kind: 'Behind' | 'OtherHistory';
  /** The number of entries that the store has of the anchored log. */
  readonly entries: number;
  /** The index of the first of them in the tenant's sequence; undefined if the store does not have that log. */
  readonly firstIndex: number | undefined;
  /** Tells the operator what happened and what to do. */
  readonly message: string;
}

interface Compared {
  readonly tenant: TenantId;
  readonly anchored: AnchoredLog;
  readonly standing: Standing | undefined;
}

/** `NotYet`: the log was not read far enough to decide. */
export type Judgement = 'Sound' | 'NotYet' | Disagreement;

const TO_GO_ON = 'to go on openly as a new log, stop the service and run `tallystick recover --new-epoch`.';

export class AnchorComparison {
  readonly #parts: ComparisonParts;
  /** Heads that were anchored and are not stored: the log must reach each before it is signed. */
  readonly #unsettled = new Map<TenantId, Compared>();
  /** Logs that this node wrote to before they became unsettled, as all nodes still do. */
  readonly #writtenTo = new Set<TenantId>();
  /** Loaded on demand during a comparison. */
  #history: AnchorHistory | undefined;
  /** By origin: the anchored size that is known to be in the log, because this node anchored it or compared it. */
  readonly #known = new Map<string, number>();
  /** Disagreements that need no reading back. */
  readonly found: Disagreement[] = [];
  /** Logs that agree with the anchor, but were signed beyond it. */
  unanchored: readonly UnanchoredLog[] = [];
  /** Logs that could not be compared, and why. */
  readonly unreadable = new Map<TenantId, string>();
  /** The state of all compared logs in the store. */
  standings: readonly Standing[] = [];

  private constructor(parts: ComparisonParts) {
    this.#parts = parts;
  }

  /** Must be called before this node appends to these logs. */
  static async make(parts: ComparisonParts): Promise<AnchorComparison> {
    const comparison = new AnchorComparison(parts);
    await comparison.#compareAll();
    return comparison;
  }

  /** If false, some logs must be read back before it is known whether they agree. */
  get isSettled(): boolean {
    return this.#unsettled.size === 0;
  }

  /** Until such a log is judged, it is unknown whether it may continue. */
  get unsettled(): readonly TenantId[] {
    return [...this.#unsettled.keys()];
  }

  /** Logs that this node does not write to until they are judged. Other unsettled logs continue, but are not signed. */
  get withheld(): readonly TenantId[] {
    return this.unsettled.filter((tenant) => !this.#writtenTo.has(tenant));
  }

  isWithheld(tenant: TenantId): boolean {
    return this.#unsettled.has(tenant) && !this.#writtenTo.has(tenant);
  }

  /** Whether the history of a log, as it was read back, matches the anchored heads so far. */
  judge({ tenant, heads }: Pick<GrownLog, 'tenant' | 'heads'>): Judgement {
    const { size } = heads.at(-1)!;
    const unsettled = this.#unsettled.get(tenant);
    if (unsettled === undefined) return 'Sound';
    const { anchored } = unsettled;
    if (size < anchored.size) return 'NotYet';
    this.#unsettled.delete(tenant);
    const then = heads.find((head) => head.size === anchored.size);
    if (then === undefined || !equalBytes(then.root, anchored.root))
      return otherHistory(unsettled, divergenceAt(anchored, then?.root));
    this.#known.set(anchored.origin, anchored.size);
    return 'Sound';
  }

  /** Reports heads that this node has anchored. */
  anchored(heads: readonly AnchoredHead[]): void {
    for (const { origin, size } of heads) this.#known.set(origin, size);
  }

  /**
   * Whether another node has anchored a head of this log that was not compared yet: the log must then be read up to
   * that head before it is signed.
   */
  async mustPass({ tenant, epoch, heads }: Pick<GrownLog, 'tenant' | 'epoch' | 'heads'>): Promise<boolean> {
    const { origin, size } = heads.at(-1)!;
    const anchored = this.#parts.anchor.heads().get(origin);
    if (anchored === undefined || anchored.size > size) return false;
    if (anchored.size <= (this.#known.get(origin) ?? 0)) return false;
    // A head that is about to be signed is compared separately.
    if (heads.some((head) => head.size === anchored.size)) return false;
    if (!this.#unsettled.has(tenant)) this.#writtenTo.add(tenant);
    const standing = { tenant, origin, epoch, firstIndex: 0, entries: size, checkpoint: undefined };
    this.#unsettled.set(tenant, { tenant, standing, anchored: { ...anchored, epoch } });
    await this.#parts.tree.stopAt(tenant, anchored.size);
    return true;
  }

  /** Compares logs that another node has signed so far. They are read after the anchor was refreshed. */
  async compareTaken(taken: readonly Standing[]): Promise<{
    readonly found: readonly Disagreement[];
    readonly unreadable: ReadonlyMap<TenantId, string>;
  }> {
    const tenants = new Set(taken.map(({ tenant }) => tenant));
    for (const tenant of tenants) if (!this.#unsettled.has(tenant)) this.#writtenTo.add(tenant);
    const before = this.found.length;
    await this.#compareEach(newestByTenant(this.#parts, tenants), taken);
    // This is only a warning: on a network file system, a file that another node has just created may not be visible
    // yet.
    for (const { tenant, anchoredSize, signed } of await this.#findUnanchored(taken)) {
      const facts = { tenant, anchoredSize, size: signed.size };
      this.#parts.telemetry.warn('the previous node signed a log beyond its anchor', facts);
    }
    return {
      found: this.found.slice(before),
      unreadable: new Map([...this.unreadable].filter(([tenant]) => tenants.has(tenant))),
    };
  }

  async #compareAll(): Promise<void> {
    const { tree, anchor, telemetry } = this.#parts;
    await anchor.refresh();
    const newest = newestByTenant(this.#parts, undefined, ({ origin, size }) =>
      telemetry.warn('the anchor holds a log of another installation', { origin, size }),
    );
    this.standings = await tree.standings();
    await this.#compareEach(newest, this.standings);
    this.unanchored = await this.#findUnanchored(this.standings);
  }

  /** Compares with the heads that were anchored before the logs were read. */
  async #compareEach(
    newest: ReadonlyMap<TenantId, AnchoredLog>,
    standings: readonly Standing[],
  ): Promise<void> {
    const forks = new Map(this.#parts.anchor.forks());
    const byTenant = new Map(standings.map((standing) => [standing.tenant, standing]));
    for (const { tenant, fault } of standings) if (fault !== undefined) this.unreadable.set(tenant, fault);
    for (const [tenant, anchored] of newest) {
      if (this.unreadable.has(tenant)) continue;
      const compared = { tenant, anchored, standing: byTenant.get(tenant) };
      const fork = forks.get(anchored.origin);
      try {
        // With a fork, two histories were signed, and the store can have only one of them.
        const found =
          fork === undefined ? await this.#compare(compared) : disagreement('OtherHistory', compared, fork);
        if (found !== undefined) this.found.push(found);
        else if (!this.#unsettled.has(tenant)) this.#known.set(anchored.origin, anchored.size);
      } catch (error) {
        if (!(error instanceof EvidenceError)) throw error;
        this.unreadable.set(tenant, error.message);
      }
    }
    this.#history = undefined;
  }

  async #compare(compared: Compared): Promise<Disagreement | undefined> {
    const { tenant, anchored, standing } = compared;
    const isBehind = standing === undefined || standing.epoch < anchored.epoch;
    if (!isBehind && standing.epoch === anchored.epoch && standing.entries >= anchored.size)
      return this.#compareHead(standing, anchored);
    this.#history ??= await this.#parts.anchor.history();
    // A log that is shorter, or was continued after a restore, must not contain anything else.
    const divergence = await findDivergence(tenant, this.#history, this.#parts.tree);
    if (divergence !== undefined) return otherHistory(compared, divergence);
    if (isBehind) return behind({ tenant, anchored, standing: undefined });
    return standing.epoch > anchored.epoch ? undefined : behind(compared);
  }

  async #compareHead(standing: Standing, anchored: AnchoredLog): Promise<Disagreement | undefined> {
    const { tenant, checkpoint } = standing;
    if (checkpoint?.size === anchored.size) {
      if (equalBytes(checkpoint.root, anchored.root)) return undefined;
      return otherHistory({ tenant, anchored, standing }, divergenceAt(anchored, checkpoint.root));
    }
    if (checkpoint === undefined || checkpoint.size < anchored.size) {
      this.#unsettled.set(tenant, { tenant, standing, anchored });
      await this.#parts.tree.stopAt(tenant, anchored.size);
      return undefined;
    }
    // A stored checkpoint was anchored before, so the anchor is outdated; `unanchored` reports it.
    const root = await rootOf(await this.#parts.tree.forTenant(tenant).tree(), anchored.size);
    if (root === undefined || !equalBytes(root, anchored.root))
      return otherHistory({ tenant, anchored, standing }, divergenceAt(anchored, root));
    return undefined;
  }

  /** Uses the current anchor, since other nodes may have anchored the stored checkpoints meanwhile. */
  async #findUnanchored(standings: readonly Standing[]): Promise<readonly UnanchoredLog[]> {
    if (findUnanchored(standings, this.#parts).length === 0) return [];
    await this.#parts.anchor.refresh();
    const refused = new Set([...this.found.map(({ tenant }) => tenant), ...this.unreadable.keys()]);
    return findUnanchored(standings, this.#parts).filter(({ tenant }) => !refused.has(tenant));
  }
}

/** The newest log of each tenant. */
function newestByTenant(
  { anchor, logOrigin }: ComparisonParts,
  tenants?: ReadonlySet<TenantId>,
  onStranger?: (head: AnchoredHead) => void,
): Map<TenantId, AnchoredLog> {
  const newest = new Map<TenantId, AnchoredLog>();
  for (const [origin, head] of anchor.heads()) {
    const named = logNamed(origin, logOrigin);
    if (named === undefined) onStranger?.(head);
    else if (tenants?.has(named.tenant) !== false && named.epoch >= (newest.get(named.tenant)?.epoch ?? 0)) {
      newest.set(named.tenant, { ...head, epoch: named.epoch });
    }
  }
  return newest;
}

/** `standing` is the state of the anchored log in the store; undefined if the store has nothing of it. */
function behind({ tenant, anchored, standing }: Compared): Disagreement {
  const lacks =
    standing === undefined
      ? `it was signed as ${anchored.origin} with ${anchored.size} entries, and none of them is there. The store was`
      : `it was signed with ${anchored.size} entries and has ${standing.entries}. It was`;
  const message = `${lacks} probably restored from a copy; ${TO_GO_ON}`;
  return disagreement('Behind', { tenant, anchored, standing }, message);
}

/** Only another copy helps: this history was never signed as the log that it claims to be. */
function otherHistory(compared: Compared, divergence: Divergence): Disagreement {
  const message = `${divergenceMessage(divergence)}. Put back a copy that has those that were signed.`;
  return disagreement('OtherHistory', compared, message);
}

function disagreement(
  kind: Disagreement['kind'],
  { tenant, anchored, standing }: Compared,
  message: string,
): Disagreement {
  const { entries = 0, firstIndex } = standing ?? {};
  return { tenant, anchored, kind, entries, firstIndex, message };
}
