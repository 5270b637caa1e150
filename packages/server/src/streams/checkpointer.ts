// Makes the log provable: what was appended is read back and recomputed, signed, anchored outside the store, stored,
// and only then served. Everything after the commit of the events may fail at any line: the next turn, or the next
// start, does the same again. A log is never signed at a smaller size than before, nor with another history: where the
// store is behind what was anchored, or differs from it, that tenant's log is refused until somebody has decided.

import { ok as assert } from 'node:assert/strict';
import type { TenantId } from '@tallystick/contract';
import { type Clock, wait } from '../runtime/clock.ts';
import type { Deadline } from '../runtime/deadline.ts';
import { type Loop, startLoop } from '../runtime/loop.ts';
import type { Random } from '../runtime/random.ts';
import type { Signing } from '../keys/signing.ts';
import type { Telemetry } from '../telemetry.ts';
import type { Anchor } from './anchor.ts';
import { AnchorComparison } from './anchor-comparison.ts';
import { CheckpointWaiters } from './checkpoint-waiters.ts';
import type { GrownLog, PublishedLog, TreeReader, TreeWriter } from './tree.ts';

export interface CheckpointerParts {
  readonly tree: TreeWriter & Pick<TreeReader, 'tree'>;
  readonly anchor: Anchor;
  readonly signing: Pick<Signing, 'reload' | 'sign'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly telemetry: Telemetry;
  readonly intervalMs: number;
  /** Told of each log with a checkpoint: of those that are there already, and of each that gets one. */
  readonly onPublished?: (tenant: TenantId) => void;
}

export interface Checkpointer extends AsyncDisposable {
  /**
   * Compares the store with what was anchored. To be called once, before anything is appended, with the name of the
   * installation.
   */
  settle(logOrigin: string): Promise<void>;
  start(): void;
  /** Why nothing may be appended to the tenant's log, nor be proven of it; undefined: it may. */
  refusalOf(tenant: TenantId): string | undefined;
  /** All that have a refusal. */
  refusedTenants(): readonly TenantId[];
  /**
   * Resolves when a checkpoint of at least this size is published; rejects when the time is over. `isPublished` is asked
   * once, after which nothing is missed any more.
   */
  covers(wish: CoverWish, isPublished: () => Promise<boolean>): Promise<void>;
  figures(): CheckpointerFigures;
}

export interface CheckpointerFigures {
  readonly refusedTenants: number;
  /** Why the last turn has failed; undefined when it has not. */
  readonly failure: unknown;
}

export interface CoverWish {
  readonly tenant: TenantId;
  readonly size: number;
  readonly deadline: Deadline;
}

const BACK_OFF_MS = 1000;
const BACK_OFF_MS_MAX = 60_000;
/** Signing takes at most this part of a core: what one turn took, the next one waits for so many times over. */
const SIGNING_SHARE = 20;
/** So many are signed, or stored in one commit, before others have their turn. */
const SIGNED_AT_ONCE = 50;
const LOGS_IN_A_COMMIT = 500;

export function createCheckpointer(parts: CheckpointerParts): Checkpointer {
  return new TurningCheckpointer(parts);
}

class TurningCheckpointer implements Checkpointer {
  readonly #parts: CheckpointerParts;
  readonly #refused = new Map<TenantId, string>();
  readonly #waiters = new CheckpointWaiters();
  #comparison: AnchorComparison | undefined;
  #loop: Loop | undefined;
  #failure: unknown;

  constructor(parts: CheckpointerParts) {
    this.#parts = parts;
  }

  async settle(logOrigin: string): Promise<void> {
    const comparison = await AnchorComparison.make({ ...this.#parts, logOrigin });
    this.#comparison = comparison;
    for (const { tenant, message } of comparison.found) this.#refuse(tenant, message);
    for (const { tenant, checkpoint } of comparison.standings) {
      if (checkpoint !== undefined && !this.#refused.has(tenant)) this.#parts.onPublished?.(tenant);
    }
  }

  start(): void {
    const { clock, random, telemetry, intervalMs } = this.#parts;
    assert(this.#loop === undefined, 'started once');
    this.#loop = startLoop({
      clock,
      random,
      paceMs: intervalMs,
      backOffMs: BACK_OFF_MS,
      backOffMsMax: BACK_OFF_MS_MAX,
      turn: (signal) => this.#turn(signal),
      onFailure: ({ error, failuresInARow, nextTurnInMs }) => {
        this.#failure = error;
        telemetry.error('no checkpoint could be made', error, { failuresInARow, nextTurnInMs });
      },
      onBroken: (error) => {
        this.#failure = error;
        telemetry.error('checkpoints have ended', error);
      },
    });
  }

  refusalOf(tenant: TenantId): string | undefined {
    return this.#refused.get(tenant);
  }

  refusedTenants(): readonly TenantId[] {
    return [...this.#refused.keys()];
  }

  covers({ tenant, size, deadline }: CoverWish, isPublished: () => Promise<boolean>): Promise<void> {
    const waiter = this.#waiters.add(tenant, size, deadline.signal);
    this.#loop?.wake();
    isPublished().then((isThere) => isThere && waiter.resolve(), waiter.reject);
    return waiter.promise;
  }

  figures(): CheckpointerFigures {
    return { refusedTenants: this.#refused.size, failure: this.#failure };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#loop?.[Symbol.asyncDispose]();
    this.#waiters.end();
  }

  async #turn(signal: AbortSignal): Promise<'more' | void> {
    const { tree, clock, signing } = this.#parts;
    await signing.reload();
    const { grown, faults, hasMore } = await tree.readGrowth();
    for (const { tenant, message } of faults) this.#refuse(tenant, `${message}.`);
    const beganNs = clock.monotonicNs();
    const sound = grown.filter((log) => this.#isSound(log));
    const signed: PublishedLog[] = [];
    for (const log of sound) {
      signed.push(this.#signed(log));
      if (signed.length % SIGNED_AT_ONCE === 0) await wait(clock, 0);
    }
    const signingMs = (clock.monotonicNs() - beganNs) / 1e6;
    await this.#anchor(sound);
    await this.#publish(signed);
    this.#failure = undefined;
    await wait(clock, Math.max(0, signingMs * SIGNING_SHARE - this.#parts.intervalMs), signal);
    return hasMore ? 'more' : undefined;
  }

  #signed({ tenant, epoch, heads, tileHashes }: GrownLog): PublishedLog {
    const checkpoints = heads.map((head) => ({ size: head.size, note: this.#parts.signing.sign(head) }));
    return { tenant, epoch, checkpoints, tileHashes };
  }

  /** One append for all. */
  async #anchor(logs: readonly GrownLog[]): Promise<void> {
    const { anchor } = this.#parts;
    const anchored = anchor.heads();
    const heads = logs
      .map((log) => log.heads.at(-1)!)
      .filter(({ origin, size }) => size >= (anchored.get(origin)?.size ?? 0));
    if (heads.length > 0) await anchor.append(heads);
  }

  async #publish(logs: readonly PublishedLog[]): Promise<void> {
    const { tree, clock } = this.#parts;
    for (let i = 0; i < logs.length; i += LOGS_IN_A_COMMIT) {
      const portion = logs.slice(i, i + LOGS_IN_A_COMMIT);
      await tree.publish(portion, clock.now());
      for (const { tenant, checkpoints } of portion) {
        this.#waiters.published(tenant, checkpoints.at(-1)!.size);
        this.#parts.onPublished?.(tenant);
      }
    }
  }

  /** Its history is the one that was anchored, as far as that went. */
  #isSound({ tenant, heads }: GrownLog): boolean {
    if (this.#refused.has(tenant)) return false;
    assert(this.#comparison !== undefined, 'settled before it is started');
    const judgement = this.#comparison.judge({ heads });
    if (typeof judgement === 'object') this.#refuse(tenant, judgement.message);
    return judgement === 'Sound';
  }

  #refuse(tenant: TenantId, why: string): void {
    if (this.#refused.has(tenant)) return;
    this.#refused.set(tenant, why);
    this.#parts.telemetry.error('the log of a tenant is refused', new Error(why), { tenant });
  }
}
