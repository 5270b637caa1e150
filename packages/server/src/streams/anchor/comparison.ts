// Compares the store with the anchor, log by log: for the checkpointer, which refuses logs that do not agree, and
// for the command that goes on openly after a restore. Most is decided at once; a log whose anchored head is not stored
// as a checkpoint has to be read back up to there first, and is decided by `judge` on its way.
//
// Other nodes may sign, anchor and store meanwhile. Entries are committed before their head is anchored, and a head is
// anchored before its checkpoint is stored: so a store that has less than the anchor had earlier is behind, and an anchor
// that has less than the store had earlier is an older one. Each is read in that order, and nothing is said of it otherwise.

import type { TenantId } from '@tallystick/contract';
import { equalBytes, EvidenceError, logNamed } from '@tallystick/evidence';
import type { Telemetry } from '../../telemetry.ts';
import type { GrownLog, Standing, TreeReader, TreeWriter } from '../tree.ts';
import type { AnchoredHead, AnchorHistory, ReadAnchor } from './anchor.ts';
import { findDivergence, type Divergence, divergenceAt, divergenceMessage, rootOf } from './divergence.ts';
import { findUnanchored, type UnanchoredLog } from './unanchored.ts';

export interface ComparisonParts {
  readonly tree: Pick<TreeWriter, 'standings' | 'stopAt'> & Pick<TreeReader, 'tree'>;
  readonly anchor: ReadAnchor;
  readonly telemetry: Pick<Telemetry, 'warn'>;
  /** The name of the installation, with which its origins begin. */
  readonly logOrigin: string;
}

/** The head of one of a tenant's logs. */
export interface AnchoredLog extends AnchoredHead {
  readonly epoch: number;
}

/** A tenant whose log is not the one that was signed. */
export interface Disagreement {
  readonly tenant: TenantId;
  /** Its newest anchored head. */
  readonly anchored: AnchoredLog;
  /** The store has less than was signed, or it has something else: with that nothing can go on, not even openly. */
  readonly kind: 'Behind' | 'OtherHistory';
  /** How many entries the store has of the log that was anchored. */
  readonly entries: number;
  /** Of the first of them in the tenant's sequence; undefined where the store has never heard of that log. */
  readonly firstIndex: number | undefined;
  /** What happened and what to do, for people. */
  readonly message: string;
}

interface Compared {
  readonly tenant: TenantId;
  readonly anchored: AnchoredLog;
  readonly standing: Standing | undefined;
}

/** `NotYet`: it has not come so far that it could be told. */
export type Judgement = 'Sound' | 'NotYet' | Disagreement;

const TO_GO_ON = 'to go on openly as a new log, stop the service and run `tallystick recover --new-epoch`.';

export class AnchorComparison {
  readonly #parts: ComparisonParts;
  /** Heads that were anchored and are not stored: the log must pass through each before anything of it is signed. */
  readonly #unsettled = new Map<TenantId, Compared>();
  /** Logs that this node has written to before they came to be unsettled, as all nodes still do. */
  readonly #writtenTo = new Set<TenantId>();
  /** While logs are compared, once one needs it. */
  #history: AnchorHistory | undefined;
  /** By origin, how much was anchored that is known to be in the log, by this node or after a look at it. */
  readonly #known = new Map<string, number>();
  /** Disagreements that were found at once. */
  readonly found: Disagreement[] = [];
  /** Logs that agree as far as the anchor goes, and that it knows less of than was signed. */
  unanchored: readonly UnanchoredLog[] = [];
  /** Logs that could not even be compared, and why. */
  readonly unreadable = new Map<TenantId, string>();
  /** All that the store has of those that are compared. */
  standings: readonly Standing[] = [];

  private constructor(parts: ComparisonParts) {
    this.#parts = parts;
  }

  /** To be made before anything is appended to these logs by this node. */
  static async make(parts: ComparisonParts): Promise<AnchorComparison> {
    const comparison = new AnchorComparison(parts);
    await comparison.#compareAll();
    return comparison;
  }

  /** Otherwise some logs have to be read back before it is known whether they agree. */
  get isSettled(): boolean {
    return this.#unsettled.size === 0;
  }

  /** Their tenants. Until such a log is judged nobody knows whether it may go on. */
  get unsettled(): readonly TenantId[] {
    return [...this.#unsettled.keys()];
  }

  /** Those that nobody writes to here until they are judged. Others are not signed until then, and go on. */
  get withheld(): readonly TenantId[] {
    return this.unsettled.filter((tenant) => !this.#writtenTo.has(tenant));
  }

  isWithheld(tenant: TenantId): boolean {
    return this.#unsettled.has(tenant) && !this.#writtenTo.has(tenant);
  }

  /** Whether the history of a log, as it was read back, is the one that was anchored, as far as that went. */
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

  /** This node has anchored these. */
  anchored(heads: readonly AnchoredHead[]): void {
    for (const { origin, size } of heads) this.#known.set(origin, size);
  }

  /**
   * Whether another has anchored a head of this log that nobody has held it against: then it must be read through that one
   * before anything of it is signed.
   */
  async mustPass({ tenant, epoch, heads }: Pick<GrownLog, 'tenant' | 'epoch' | 'heads'>): Promise<boolean> {
    const { origin, size } = heads.at(-1)!;
    const anchored = this.#parts.anchor.heads().get(origin);
    if (anchored === undefined || anchored.size > size) return false;
    if (anchored.size <= (this.#known.get(origin) ?? 0)) return false;
    // One of those that are about to be signed is compared by itself.
    if (heads.some((head) => head.size === anchored.size)) return false;
    if (!this.#unsettled.has(tenant)) this.#writtenTo.add(tenant);
    const standing = { tenant, origin, epoch, firstIndex: 0, entries: size, checkpoint: undefined };
    this.#unsettled.set(tenant, { tenant, standing, anchored: { ...anchored, epoch } });
    await this.#parts.tree.stopAt(tenant, anchored.size);
    return true;
  }

  /** Compares logs that another node has signed until now, read after the anchor was refreshed. */
  async compareTaken(taken: readonly Standing[]): Promise<{
    readonly found: readonly Disagreement[];
    readonly unreadable: ReadonlyMap<TenantId, string>;
  }> {
    const tenants = new Set(taken.map(({ tenant }) => tenant));
    for (const tenant of tenants) if (!this.#unsettled.has(tenant)) this.#writtenTo.add(tenant);
    const before = this.found.length;
    await this.#compareEach(newestByTenant(this.#parts, tenants), taken);
    // Only told: where the anchor is shared over a network, a file that another node has just made may not be seen yet.
    for (const { tenant, anchoredSize, signed } of await this.#findUnanchored(taken)) {
      const facts = { tenant, anchoredSize, size: signed.size };
      this.#parts.telemetry.warn('a log was signed beyond its anchor by the node that had it before', facts);
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
      telemetry.warn('a log was anchored that is none of this installation', { origin, size }),
    );
    this.standings = await tree.standings();
    await this.#compareEach(newest, this.standings);
    this.unanchored = await this.#findUnanchored(this.standings);
  }

  /** `newest` was read before the standings were. */
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
        // With a fork two were signed: whichever the store has, it is not the only one.
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
    // A log that has less, or goes on after that, must have nothing else.
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
    // The stored checkpoint was anchored before: the anchor is an older one, which `unanchored` tells.
    const root = await rootOf(await this.#parts.tree.tree(tenant), anchored.size);
    if (root === undefined || !equalBytes(root, anchored.root))
      return otherHistory({ tenant, anchored, standing }, divergenceAt(anchored, root));
    return undefined;
  }

  /** Reads the anchor again: other nodes may have anchored the stored heads meanwhile. */
  async #findUnanchored(standings: readonly Standing[]): Promise<readonly UnanchoredLog[]> {
    if (findUnanchored(standings, this.#parts).length === 0) return [];
    await this.#parts.anchor.refresh();
    const refused = new Set([...this.found.map(({ tenant }) => tenant), ...this.unreadable.keys()]);
    return findUnanchored(standings, this.#parts).filter(({ tenant }) => !refused.has(tenant));
  }
}

/** Of each tenant the log that it had last. */
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

/** `standing` is what the store has of the log that was anchored; undefined where it has nothing of it. */
function behind({ tenant, anchored, standing }: Compared): Disagreement {
  const lacks =
    standing === undefined
      ? `it was signed as ${anchored.origin} with ${anchored.size} entries, and none of them is there. The store was`
      : `it was signed with ${anchored.size} entries and has ${standing.entries}. It was`;
  const message = `${lacks} probably restored from a copy; ${TO_GO_ON}`;
  return disagreement('Behind', { tenant, anchored, standing }, message);
}

/** There is no way on from here but another copy: this was never signed as the log that it claims to be. */
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
