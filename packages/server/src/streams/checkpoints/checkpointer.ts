// Makes the log provable: appended entries are read back, recomputed, signed, anchored outside the store, stored, and
// only then served. Every step after the commit of the events may fail: the next turn, or the next start, repeats it. A
// log is never signed at a smaller size than before, nor with another history: if the store is behind the anchor, or
// differs from it, the tenant's log is refused until an operator decides.

import { ok as assert } from 'node:assert/strict';
import { AuditError, type TenantId } from '@tallystick/contract';
import { type Clock, wait } from '../../runtime/clock.ts';
import type { Deadline } from '../../runtime/deadline.ts';
import { type Loop, startLoop } from '../../runtime/loop.ts';
import type { Random } from '../../runtime/random.ts';
import type { Signing } from '../../keys/signing.ts';
import type { Telemetry } from '../../telemetry.ts';
import type { Anchor } from '../anchor/anchor.ts';
import { AnchorComparison } from '../anchor/comparison.ts';
import { contradictionOf } from '../anchor/divergence.ts';
import { CheckpointWaiters } from './checkpoint-waiters.ts';
import { COMPARING } from './refused-log.ts';
import type { GrownLog, PublishedLog, Standing, TreeWriter, TreesWith } from '../tree.ts';

export interface CheckpointerParts {
  readonly tree: TreeWriter & TreesWith<'tree'>;
  readonly anchor: Anchor;
  readonly signing: Pick<Signing, 'reload' | 'sign'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly telemetry: Telemetry;
  readonly intervalMs: number;
  /** Called for each log with a checkpoint: for existing ones, and after each new one. */
  readonly onPublished?: (tenant: TenantId) => void;
  /** Called when a caller waits for a checkpoint, which may be for another node to make. */
  readonly onWanted?: () => void;
  /** The findings of other nodes. */
  readonly elsewhere?: RefusedElsewhere;
}

/** Logs that other nodes refuse. */
export interface RefusedElsewhere {
  refusalElsewhere(tenant: TenantId): string | undefined;
  refusedElsewhere(): Iterable<TenantId>;
}

export interface Checkpointer extends AsyncDisposable {
  /**
   * Compares the store with the anchor. Must be called once, before anything is appended, with the name of the
   * installation.
   */
  settle(logOrigin: string): Promise<void>;
  start(): void;
  /** The reason why the tenant's log must not be appended to or proven; undefined if it may. */
  refusalOf(tenant: TenantId): string | undefined;
  /** All tenants with a refusal; also while a log is compared with its anchor after a start. */
  refusedTenants(): readonly TenantId[];
  /** The refusals that this node has found, with their reasons. */
  findings(): ReadonlyMap<TenantId, string>;
  /** Signals that there may be work. */
  wake(): void;
  /** Another node has made checkpoints; callers may wait for them here. */
  publishedElsewhere(): void;
  /**
   * Resolves when a checkpoint of at least this size is published; rejects when the deadline passes, and at once while
   * none can be made. `isPublished` is asked once, after the caller is registered, so that no checkpoint is missed.
   */
  covers(request: CoverRequest, isPublished: () => Promise<boolean>): Promise<void>;
  figures(): CheckpointerFigures;
  /**
   * False after repeated failures, until a checkpoint succeeds or a minute or two have passed; false for good once it
   * has stopped.
   */
  isAble(): boolean;
}

export interface CheckpointerFigures {
  readonly refusedTenants: number;
  /** The failure of the last turn that had anything to sign; undefined if it succeeded. */
  readonly failure: unknown;
}

export interface CoverRequest {
  readonly tenant: TenantId;
  readonly size: number;
  readonly deadline: Deadline;
}

const BACK_OFF_MS = 1000;
/** Callers wait for proofs: after a database outage this should not take long. */
const BACK_OFF_MS_MAX = 5000;
/** A single failure is no reason to hand the logs to other nodes. */
const UNABLE_FAILURES = 2;
/** Longer than until its next turn: a turn with nothing to sign proves nothing. */
const UNABLE_MS = 60_000;
/** Signing uses at most this part of a core: turns that sign start at intervals of this many times their duration. */
const SIGNING_SHARE = 20;
/** The number of logs that are signed, or stored in one commit, before other work gets a turn. */
const SIGNED_AT_ONCE = 50;
const LOGS_IN_A_COMMIT = 500;
/**
 * A start waits this long for logs to be read back, and at least for this number of portions: more than a kill in the
 * middle of signing leaves. Only a long log, not a slow machine, lets the
 * service start before that is done.
 */
const READ_BACK_MS_MAX = 2000;
const READ_BACK_PORTIONS = 8;

export function createCheckpointer(parts: CheckpointerParts): Checkpointer {
  return new TurningCheckpointer(parts);
}

class TurningCheckpointer implements Checkpointer {
  readonly #parts: CheckpointerParts;
  readonly #refused = new Map<TenantId, string>();
  readonly #waiters = new CheckpointWaiters();
  #comparison: AnchorComparison | undefined;
  /** Logs that were taken over and are not compared with the anchor yet. */
  readonly #uncompared = new Set<TenantId>();
  #loop: Loop | undefined;
  #failure: unknown;
  /** Until when other nodes should take its logs, on the monotonic clock, and why. */
  #unable: { readonly untilNs: number; readonly failure: unknown } | undefined;
  /** On the monotonic clock: no turn signs earlier. */
  #restsUntilNs = 0;

  constructor(parts: CheckpointerParts) {
    this.#parts = parts;
  }

  async settle(logOrigin: string): Promise<void> {
    const comparison = await AnchorComparison.make({ ...this.#parts, logOrigin });
    this.#comparison = comparison;
    for (const [tenant, why] of comparison.unreadable) this.#refuse(tenant, `${why}.`);
    for (const { tenant, message } of [...comparison.found, ...comparison.unanchored])
      this.#refuse(tenant, message);
    await this.#readBack(comparison);
    for (const tenant of comparison.unsettled) {
      this.#parts.telemetry.info('a log is read back and compared with its anchor before it goes on', {
        tenant,
      });
    }
    for (const { tenant, checkpoint, isElsewhere } of comparison.standings) {
      if (checkpoint !== undefined && !isElsewhere && !this.#refused.has(tenant))
        this.#parts.onPublished?.(tenant);
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
        this.#fail(error);
        if (failuresInARow >= UNABLE_FAILURES && !isUnavailable(error))
          this.#unable = { untilNs: clock.monotonicNs() + (nextTurnInMs + UNABLE_MS) * 1e6, failure: error };
        telemetry.error('no checkpoint could be made', error, { failuresInARow, nextTurnInMs });
      },
      onBroken: (error) => {
        this.#fail(error);
        this.#unable = { untilNs: Infinity, failure: error };
        telemetry.error('the checkpointer has stopped', error);
      },
    });
  }

  refusalOf(tenant: TenantId): string | undefined {
    const refusal = this.#refused.get(tenant) ?? this.#parts.elsewhere?.refusalElsewhere(tenant);
    if (refusal !== undefined || !this.#comparison?.isWithheld(tenant)) return refusal;
    return COMPARING;
  }

  refusedTenants(): readonly TenantId[] {
    const elsewhere = this.#parts.elsewhere?.refusedElsewhere() ?? [];
    return [...new Set([...this.#refused.keys(), ...elsewhere, ...(this.#comparison?.withheld ?? [])])];
  }

  findings(): ReadonlyMap<TenantId, string> {
    return this.#refused;
  }

  wake(): void {
    this.#loop?.wake();
  }

  publishedElsewhere(): void {
    if (this.#waiters.tenants().length > 0) this.#loop?.wake();
  }

  covers({ tenant, size, deadline }: CoverRequest, isPublished: () => Promise<boolean>): Promise<void> {
    const waiter = this.#waiters.add(tenant, size, deadline.signal);
    this.#loop?.wake();
    this.#parts.onWanted?.();
    const answer = (isThere: boolean) => {
      if (isThere) waiter.resolve();
      else if (this.#failure !== undefined) waiter.reject(notSigned());
    };
    isPublished().then(answer, waiter.reject);
    return waiter.promise;
  }

  figures(): CheckpointerFigures {
    const failure = this.#failure ?? (this.isAble() ? undefined : this.#unable?.failure);
    return { refusedTenants: this.refusedTenants().length, failure };
  }

  isAble(): boolean {
    return this.#unable === undefined || this.#parts.clock.monotonicNs() >= this.#unable.untilNs;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#loop?.[Symbol.asyncDispose]();
    this.#waiters.end(new AuditError('SERVICE_UNAVAILABLE', 'The service is stopping.'));
  }

  async #turn(signal: AbortSignal): Promise<'more' | void> {
    const { clock, signing } = this.#parts;
    // This wait is not part of the pause, which a caller who wants a proof cuts short.
    await wait(clock, Math.max(0, (this.#restsUntilNs - clock.monotonicNs()) / 1e6), signal);
    if (signal.aborted) return;
    const beganNs = clock.monotonicNs();
    await signing.reload();
    const { sound: read, hasMore } = await this.#readSound();
    const sound = await this.#withoutForks(read);
    const { signed, tookNs } = await this.#sign(sound);
    this.#restsUntilNs = beganNs + tookNs * SIGNING_SHARE;
    if (signed.length > 0) await this.#parts.tree.confirm();
    await this.#anchor(sound);
    await this.#publish(signed);
    await this.#lookElsewhere();
    this.#failure = undefined;
    if (signed.length > 0) this.#unable = undefined;
    return hasMore ? 'more' : undefined;
  }

  /**
   * Decides the open logs before requests are served: after a kill in the middle of signing these are few entries. A
   * longer log stays refused until a later turn reads it.
   */
  async #readBack(comparison: AnchorComparison): Promise<void> {
    const { clock } = this.#parts;
    const untilNs = clock.monotonicNs() + READ_BACK_MS_MAX * 1e6;
    try {
      let hasMore = true;
      for (let portions = 0; hasMore && !comparison.isSettled; portions++) {
        if (portions >= READ_BACK_PORTIONS && clock.monotonicNs() >= untilNs) return;
        ({ hasMore } = await this.#readSound());
      }
    } catch {
      // The first turn reads the same, and reports the failure.
    }
  }

  async #readSound(): Promise<{ sound: GrownLog[]; hasMore: boolean }> {
    const { tree, anchor } = this.#parts;
    // Refreshed before logs are read: they contain all that is anchored by then.
    await anchor.refresh();
    // Logs that could not be compared in the last turn are read again, before anything else of them.
    if (this.#uncompared.size > 0) await this.#takeOver(await tree.standings());
    const { grown, faults, hasMore, taken } = await tree.readGrowth();
    for (const { tenant, message } of faults) this.#refuse(tenant, `${message}.`);
    if (taken !== undefined) {
      for (const { tenant } of taken) this.#uncompared.add(tenant);
      await this.#takeOver(taken);
    }
    return { sound: grown.filter((log) => this.#isSound(log) && !log.isElsewhere), hasMore };
  }

  /** The previous node may have anchored more of these logs than it stored. */
  async #takeOver(standings: readonly Standing[]): Promise<void> {
    assert(this.#comparison !== undefined, 'settled before it is started');
    const taken = standings.filter(({ tenant }) => this.#uncompared.has(tenant));
    const { found, unreadable } = await this.#comparison.compareTaken(taken);
    for (const [tenant, why] of unreadable) this.#refuse(tenant, `${why}.`);
    for (const { tenant, message } of found) this.#refuse(tenant, message);
    for (const { tenant, checkpoint } of taken)
      if (checkpoint !== undefined && !this.#refused.has(tenant)) this.#parts.onPublished?.(tenant);
    this.#uncompared.clear();
  }

  /** The checkpoint that a caller waits for may be for another node to make. */
  async #lookElsewhere(): Promise<void> {
    const tenants = this.#waiters.tenants();
    if (tenants.length === 0) return;
    for (const [tenant, size] of await this.#parts.tree.newestSizes(tenants))
      this.#waiters.published(tenant, size);
  }

  /** Checked before signing: heads that other nodes have anchored meanwhile must be the same. */
  async #withoutForks(logs: readonly GrownLog[]): Promise<GrownLog[]> {
    const { anchor } = this.#parts;
    if (logs.length === 0) return [];
    await anchor.refresh();
    const sound: GrownLog[] = [];
    for (const log of logs) {
      const fork = contradictionOf(log.heads, anchor);
      if (fork !== undefined) this.#refuse(log.tenant, fork);
      else if (!(await this.#comparison!.mustPass(log))) sound.push(log);
    }
    return sound;
  }

  /** Returns the time that signing took, without the pauses for other work. */
  async #sign(logs: readonly GrownLog[]): Promise<{ signed: PublishedLog[]; tookNs: number }> {
    const { clock } = this.#parts;
    const signed: PublishedLog[] = [];
    let tookNs = 0;
    for (let i = 0; i < logs.length; i += SIGNED_AT_ONCE) {
      if (i > 0) await wait(clock, 0);
      const beganNs = clock.monotonicNs();
      for (const log of logs.slice(i, i + SIGNED_AT_ONCE)) signed.push(this.#signed(log));
      tookNs += clock.monotonicNs() - beganNs;
    }
    return { signed, tookNs };
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
    if (heads.length === 0) return;
    await anchor.append(heads);
    this.#comparison!.anchored(heads);
  }

  async #publish(logs: readonly PublishedLog[]): Promise<void> {
    const { tree, clock } = this.#parts;
    for (let i = 0; i < logs.length; i += LOGS_IN_A_COMMIT) {
      const portion = logs.slice(i, i + LOGS_IN_A_COMMIT);
      for (const { tenant, checkpoints } of await tree.publish(portion, clock.now())) {
        this.#waiters.published(tenant, checkpoints.at(-1)!.size);
        this.#parts.onPublished?.(tenant);
      }
    }
  }

  /** Whether its history matches the anchored one so far. */
  #isSound({ tenant, heads }: GrownLog): boolean {
    if (this.#refused.has(tenant)) return false;
    assert(this.#comparison !== undefined, 'settled before it is started');
    const judgement = this.#comparison.judge({ tenant, heads });
    if (typeof judgement === 'object') this.#refuse(tenant, judgement.message);
    return judgement === 'Sound';
  }

  /** Waiting callers would wait in vain, perhaps for long. */
  #fail(error: unknown): void {
    this.#failure = error;
    this.#waiters.end(notSigned());
  }

  #refuse(tenant: TenantId, why: string): void {
    if (this.#refused.has(tenant)) return;
    this.#refused.set(tenant, why);
    // No Error: a stack trace does not help an operator.
    this.#parts.telemetry.error('the log of a tenant is refused', why, { tenant });
  }
}

/** The database is unavailable, for all nodes. */
function isUnavailable(error: unknown): boolean {
  return error instanceof AuditError && error.code === 'SERVICE_UNAVAILABLE';
}

function notSigned(): AuditError {
  const message =
    'Events are stored, but not signed at the moment: no checkpoint covers this yet. Try again later.';
  return new AuditError('SERVICE_UNAVAILABLE', message);
}
