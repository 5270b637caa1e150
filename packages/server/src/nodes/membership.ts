// The membership of this node: every second it reports that it is alive, and learns the state of the others.

import type { TenantId } from '@tallystick/contract';
import type { Clock } from '../runtime/clock.ts';
import { type Loop, startLoop } from '../runtime/loop.ts';
import type { Random } from '../runtime/random.ts';
import type { Telemetry } from '../telemetry.ts';
import type { Beat, News, Nodes, NodeState, NodeWord } from './nodes.ts';

export interface MembershipParts {
  /** Undefined: there are never any others. Called once the store is open. */
  readonly nodes: () => Nodes | undefined;
  /** The state of this node. */
  readonly word: () => NodeWord;
  /** Gets the hints of other nodes, and learns when this node takes over further logs. */
  readonly onNews: (news: News | 'Gained') => void;
  readonly clock: Clock;
  readonly random: Random;
  readonly telemetry: Pick<Telemetry, 'info' | 'warn' | 'error'>;
}

export interface Membership extends AsyncDisposable {
  /** Takes part from now on. Resolves once it is known to the others. */
  join(): Promise<void>;
  /** The others, if there are any. */
  tell(news: News): void;
  nodes(): readonly NodeState[];
  /** Other nodes serve at the moment. */
  areOthers(): boolean;
  /** Why another node refuses the log of a tenant; undefined: none does. */
  refusalElsewhere(tenant: TenantId): string | undefined;
  refusedElsewhere(): Iterable<TenantId>;
}

/** A fifth of the time after which a node counts as gone: some beats may be missed. */
const PACE_MS = 1000;
const BACK_OFF_MS = 500;
const BACK_OFF_MS_MAX = 2000;

export function createMembership(parts: MembershipParts): Membership {
  return new BeatingMembership(parts);
}

class BeatingMembership implements Membership {
  readonly #parts: MembershipParts;
  #nodes: Nodes | undefined;
  #latest: Beat = { nodes: [], refusedElsewhere: new Map(), hasGained: false };
  #wasAble = true;
  #loop: Loop | undefined;

  constructor(parts: MembershipParts) {
    this.#parts = parts;
  }

  async join(): Promise<void> {
    const { nodes, onNews, clock, random, telemetry } = this.#parts;
    this.#nodes = nodes();
    if (this.#nodes === undefined) return;
    await this.#beat(this.#nodes);
    this.#nodes.onTold((news) => {
      if (news === 'SharesFreed') this.#loop?.wake();
      onNews(news);
    });
    this.#loop = startLoop({
      clock,
      random,
      paceMs: PACE_MS,
      backOffMs: BACK_OFF_MS,
      backOffMsMax: BACK_OFF_MS_MAX,
      turn: () => this.#beat(this.#nodes!),
      onFailure: ({ error }) =>
        telemetry.warn('this node cannot report that it is alive; if that lasts, others take over its logs', {
          cause: String(error),
        }),
      onBroken: (error) => telemetry.error('this node no longer takes part', error),
    });
  }

  tell(news: News): void {
    if (this.areOthers()) this.#nodes?.tell(news);
  }

  areOthers(): boolean {
    return this.#latest.nodes.some(({ isSelf, isGone }) => !isSelf && !isGone);
  }

  nodes(): readonly NodeState[] {
    return this.#latest.nodes;
  }

  refusalElsewhere(tenant: TenantId): string | undefined {
    return this.#latest.refusedElsewhere.get(tenant);
  }

  refusedElsewhere(): Iterable<TenantId> {
    return this.#latest.refusedElsewhere.keys();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#loop === undefined) return;
    await this.#loop[Symbol.asyncDispose]();
    await this.#nodes?.leave().catch((error: unknown) => {
      // Its leases end by themselves.
      this.#parts.telemetry.warn('this node could not announce that it leaves', { cause: String(error) });
    });
  }

  async #beat(nodes: Nodes): Promise<void> {
    const { onNews, telemetry } = this.#parts;
    const before = this.#latest.nodes;
    const word = this.#parts.word();
    this.#latest = await nodes.beat(word);
    if (this.#wasAble && !word.isAble)
      telemetry.warn('this node makes no checkpoints: others look after its logs, if there are any');
    this.#wasAble = word.isAble;
    for (const name of comings(before, this.#latest.nodes)) telemetry.info('a node has joined', { name });
    for (const name of comings(this.#latest.nodes, before)) telemetry.info('a node is gone', { name });
    if (this.#latest.hasGained) onNews('Gained');
  }
}

/** The others that are in the later list and not in the earlier one. */
function comings(earlier: readonly NodeState[], later: readonly NodeState[]): string[] {
  const there = (list: readonly NodeState[]) =>
    list.filter(({ isGone, isSelf }) => !isGone && !isSelf).map(({ name }) => name);
  const before = new Set(there(earlier));
  return there(later).filter((name) => !before.has(name));
}
