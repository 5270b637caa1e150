// Holds the store against what was anchored, log by log: for the checkpointer, which refuses whatever does not agree, and
// for the command that goes on openly after a restore. Most is decided at once; a log whose anchored head is not stored
// as a checkpoint has to be read back up to there first, and is decided by `judge` on its way.

import type { TenantId } from '@tallystick/contract';
import { equalBytes, EvidenceError, logNamed } from '@tallystick/evidence';
import type { Telemetry } from '../telemetry.ts';
import type { Anchor, AnchoredHead, AnchorHistory } from './anchor.ts';
import { findParting, type Parting, partingAt, partingMessage, rootOf } from './parting.ts';
import type { GrownLog, Standing, TreeReader, TreeWriter } from './tree.ts';

export interface ComparisonParts {
  readonly tree: Pick<TreeWriter, 'standings' | 'stopAt'> & Pick<TreeReader, 'tree'>;
  readonly anchor: Pick<Anchor, 'isNew' | 'heads' | 'history'>;
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
  /** What was anchored last of it. */
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

/** `NotYet`: it has not come so far that it could be told. */
export type Judgement = 'Sound' | 'NotYet' | Disagreement;

const TO_GO_ON = 'to go on openly as a new log, stop the service and run `tallystick recover --new-epoch`.';

export class AnchorComparison {
  readonly #parts: ComparisonParts;
  /** Heads that were anchored and are not stored: the log must pass through each before anything of it is signed. */
  readonly #unsettled = new Map<TenantId, { readonly standing: Standing; readonly anchored: AnchoredLog }>();
  readonly #found: Disagreement[] = [];
  /** While logs are compared, once one needs it. */
  #history: AnchorHistory | undefined;
  #standings: readonly Standing[] = [];
  readonly #unreadable = new Map<TenantId, string>();

  private constructor(parts: ComparisonParts) {
    this.#parts = parts;
  }

  /** To be made before anything is appended. */
  static async make(parts: ComparisonParts): Promise<AnchorComparison> {
    const comparison = new AnchorComparison(parts);
    await comparison.#compareAll();
    return comparison;
  }

  /** What was found at once. */
  get found(): readonly Disagreement[] {
    return this.#found;
  }

  /** Logs that could not even be compared, and why. */
  get unreadable(): ReadonlyMap<TenantId, string> {
    return this.#unreadable;
  }

  /** All that the store has. */
  get standings(): readonly Standing[] {
    return this.#standings;
  }

  /** Otherwise some logs have to be read back before it is known whether they agree. */
  get isSettled(): boolean {
    return this.#unsettled.size === 0;
  }

  /** Whose logs these are. Until such a log is judged nobody knows whether it may go on. */
  get unsettled(): readonly TenantId[] {
    return [...this.#unsettled.keys()];
  }

  isUnsettled(tenant: TenantId): boolean {
    return this.#unsettled.has(tenant);
  }

  /** Whether the history of a log, as it was read back, is the one that was anchored, as far as that went. */
  judge({ tenant, heads }: Pick<GrownLog, 'tenant' | 'heads'>): Judgement {
    const { size } = heads.at(-1)!;
    const unsettled = this.#unsettled.get(tenant);
    if (unsettled === undefined) return 'Sound';
    const { standing, anchored } = unsettled;
    if (size < anchored.size) return 'NotYet';
    this.#unsettled.delete(tenant);
    const then = heads.find((head) => head.size === anchored.size);
    if (then !== undefined && equalBytes(then.root, anchored.root)) return 'Sound';
    return otherHistory(standing, anchored, partingAt(anchored, then?.root));
  }

  /** Logs that another node has signed until now: as they are, after the anchor was refreshed. What is found of them. */
  async compareTaken(taken: readonly Standing[]): Promise<{
    readonly found: readonly Disagreement[];
    readonly unreadable: ReadonlyMap<TenantId, string>;
  }> {
    const { anchor, logOrigin } = this.#parts;
    const newest = newestByTenant(anchor.heads(), logOrigin, () => {});
    const before = this.#found.length;
    const tenants = new Set(taken.map(({ tenant }) => tenant));
    await this.#compareEach(
      [...newest].filter(([tenant]) => tenants.has(tenant)),
      taken,
    );
    return {
      found: this.#found.slice(before),
      unreadable: new Map([...this.#unreadable].filter(([tenant]) => tenants.has(tenant))),
    };
  }

  async #compareAll(): Promise<void> {
    const { tree, anchor, telemetry, logOrigin } = this.#parts;
    const newest = newestByTenant(anchor.heads(), logOrigin, ({ origin, size }) =>
      telemetry.warn('a log was anchored that is none of this installation', { origin, size }),
    );
    this.#standings = await tree.standings();
    if (anchor.isNew && this.#standings.some(({ checkpoint }) => checkpoint !== undefined)) {
      // Whoever took it away could have put the store back to an earlier state as well.
      telemetry.warn('the anchor is empty although logs were signed before: it was lost, or is another one');
    }
    await this.#compareEach(newest, this.#standings);
  }

  async #compareEach(
    newest: Iterable<readonly [TenantId, AnchoredLog]>,
    all: readonly Standing[],
  ): Promise<void> {
    const standings = new Map(all.map((standing) => [standing.tenant, standing]));
    for (const { tenant, fault } of all) if (fault !== undefined) this.#unreadable.set(tenant, fault);
    for (const [tenant, anchored] of newest) {
      if (this.#unreadable.has(tenant)) continue;
      const standing = standings.get(tenant);
      if (standing !== undefined && standing.epoch > anchored.epoch) {
        // A log that has just begun after a restore is not anchored yet, nor signed; those before it are over.
        if (standing.checkpoint !== undefined) this.#warnOfOlderAnchor(standing, 0);
      }
      try {
        const disagreement = await this.#compare(tenant, standing, anchored);
        if (disagreement !== undefined) this.#found.push(disagreement);
      } catch (error) {
        if (!(error instanceof EvidenceError)) throw error;
        this.#unreadable.set(tenant, error.message);
      }
    }
    this.#history = undefined;
  }

  async #compare(
    tenant: TenantId,
    standing: Standing | undefined,
    anchored: AnchoredLog,
  ): Promise<Disagreement | undefined> {
    const isBehind = standing === undefined || standing.epoch < anchored.epoch;
    if (!isBehind && standing.epoch === anchored.epoch && standing.entries >= anchored.size)
      return this.#compareHead(standing, anchored);
    this.#history ??= await this.#parts.anchor.history();
    // Whoever has less, or goes on after that, must have nothing else.
    const parting = await findParting(tenant, this.#history, this.#parts.tree);
    if (parting !== undefined) return otherHistory(standing ?? noneOf(tenant), anchored, parting);
    if (isBehind) return goneAltogether(tenant, anchored);
    return standing.epoch > anchored.epoch ? undefined : behind(standing, anchored);
  }

  async #compareHead(standing: Standing, anchored: AnchoredLog): Promise<Disagreement | undefined> {
    const { tenant, checkpoint } = standing;
    if (checkpoint?.size === anchored.size) {
      if (equalBytes(checkpoint.root, anchored.root)) return undefined;
      return otherHistory(standing, anchored, partingAt(anchored, checkpoint.root));
    }
    if (checkpoint === undefined || checkpoint.size < anchored.size) {
      this.#unsettled.set(tenant, { standing, anchored });
      await this.#parts.tree.stopAt(tenant, anchored.size);
      return undefined;
    }
    // What is stored was anchored before it was: the anchor is an older one.
    const root = await rootOf(await this.#parts.tree.tree(tenant), anchored.size);
    if (root === undefined || !equalBytes(root, anchored.root))
      return otherHistory(standing, anchored, partingAt(anchored, root));
    this.#warnOfOlderAnchor(standing, anchored.size);
    return undefined;
  }

  #warnOfOlderAnchor({ tenant, checkpoint }: Standing, anchoredSize: number): void {
    this.#parts.telemetry.warn(
      'a log was signed beyond its anchor: the anchor was put back to an earlier state',
      { tenant, anchoredSize, size: checkpoint?.size },
    );
  }
}

/** Of each tenant the log that it had last. */
function newestByTenant(
  heads: ReadonlyMap<string, AnchoredHead>,
  logOrigin: string,
  onStranger: (head: AnchoredHead) => void,
): Map<TenantId, AnchoredLog> {
  const newest = new Map<TenantId, AnchoredLog>();
  for (const [origin, head] of heads) {
    const named = logNamed(origin, logOrigin);
    if (named === undefined) onStranger(head);
    else if (named.epoch >= (newest.get(named.tenant)?.epoch ?? 0)) {
      newest.set(named.tenant, { ...head, epoch: named.epoch });
    }
  }
  return newest;
}

function behind({ tenant, entries, firstIndex }: Standing, anchored: AnchoredLog): Disagreement {
  const message =
    `it was signed with ${anchored.size} entries and has ${entries}. It was probably restored from a copy; ` +
    TO_GO_ON;
  return { tenant, anchored, kind: 'Behind', entries, firstIndex, message };
}

function goneAltogether(tenant: TenantId, anchored: AnchoredLog): Disagreement {
  const message =
    `it was signed as ${anchored.origin} with ${anchored.size} entries, and none of them is there. The store was ` +
    `probably restored from a copy; ${TO_GO_ON}`;
  return { tenant, anchored, kind: 'Behind', entries: 0, firstIndex: undefined, message };
}

/** There is no way on from here but another copy: what is here was never signed as what it says it is. */
function otherHistory(
  { tenant, entries, firstIndex }: Pick<Standing, 'tenant' | 'entries'> & { firstIndex: number | undefined },
  anchored: AnchoredLog,
  parting: Parting,
): Disagreement {
  const message = `${partingMessage(parting)}. Put back a copy that has those that were signed.`;
  return { tenant, anchored, kind: 'OtherHistory', entries, firstIndex, message };
}

function noneOf(tenant: TenantId) {
  return { tenant, entries: 0, firstIndex: undefined };
}
