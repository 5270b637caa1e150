// Collects the drafts of all tenants into pools. All requests that arrive during a commit go into the next pool, so
// that one fsync serves many and no timer is needed. A pool that is worth its own fsync is handed over at once, even
// while another is committed: the log works while this thread reads the remaining input. Otherwise many callers fall
// into step, and all wait for one thread and then for the other. A caller is answered when the commit is durable. If it
// fails, all callers of the pool are told, and nothing is kept for a retry: the caller repeats safely with the same key
// or ids.

import { AuditError, type TenantId } from '@tallystick/contract';
import type { Clock } from '../../runtime/clock.ts';
import type { ChangeRefusal } from '../../records/records.ts';
import type {
  AppendOutcome,
  AppendRequest,
  AppendResult,
  EventsRequest,
  LogWriter,
  OnLocked,
} from '../log.ts';
import { refusedLog } from '../checkpoints/refused-log.ts';

export interface Sequencer extends AsyncDisposable {
  /** Resolves when the request is durable; rejects with SERVICE_UNAVAILABLE when that is unknown. */
  append(request: EventsRequest): Promise<AppendResult>;
  append(request: AppendRequest): Promise<AppendResult | ChangeRefusal>;
  /** Makes an empty commit; its success ends an earlier failure. */
  probe(): Promise<void>;
  figures(): SequencerFigures;
}

export interface SequencerFigures {
  /** Drafts that are not durable yet. */
  readonly waitingDrafts: number;
  /** The duration of the oldest commit under way; zero if there is none. */
  readonly commitMs: number;
  /** The time since a pool was last full before the previous one was durable. */
  readonly pressedMsAgo: number;
  /** The failure since which no commit has succeeded. */
  readonly failure: { readonly atMs: number; readonly error: unknown } | undefined;
}

export interface SequencerLimits {
  /** For all tenants together. Once half of it is used, a tenant with a quarter or more must wait. */
  readonly waitingDraftsMax: number;
  readonly waitingBytesMax: number;
  /** The limit of a pool, except for a single larger request: a commit takes tens of milliseconds. */
  readonly poolDraftsMax: number;
  readonly poolBytesMax: number;
  /** A pool of this size is handed over at once; a smaller one waits for more. */
  readonly poolDraftsMin: number;
}

export interface SequencerOptions {
  readonly writer: Pick<LogWriter, 'append' | 'probe'>;
  readonly clock: Clock;
  /** Time that is independent of wall clock jumps; keys expire by it. */
  readonly steadyNowMs: () => number;
  /** The reason why the tenant's log must not be appended to; undefined if it may. */
  readonly refusalOf?: (tenant: TenantId) => string | undefined;
  /** Called when a pool is durable. */
  readonly onCommitted?: () => void;
  /** Called when a pool has failed. */
  readonly onFailure?: (error: unknown) => void;
  readonly limits?: Partial<SequencerLimits>;
}

interface Waiting {
  readonly request: AppendRequest;
  readonly bytes: number;
  readonly resolve: (result: AppendResult | ChangeRefusal) => void;
  readonly reject: (error: Error) => void;
}

/** The waiting requests. */
interface Load {
  drafts: number;
  bytes: number;
}

const LIMITS: SequencerLimits = {
  waitingDraftsMax: 20_000,
  waitingBytesMax: 64 * 1024 * 1024,
  poolDraftsMax: 1000,
  poolBytesMax: 4 * 1024 * 1024,
  poolDraftsMin: 16,
};

/** One is being committed, one is ready. */
const POOLS_UNDER_WAY_MAX = 2;

export function createSequencer(options: SequencerOptions): Sequencer {
  return new PoolingSequencer(options);
}

class PoolingSequencer implements Sequencer {
  readonly #options: SequencerOptions;
  readonly #limits: SequencerLimits;
  #queue: Waiting[] = [];
  #queuedDrafts = 0;
  readonly #waiting: Load = { drafts: 0, bytes: 0 };
  readonly #waitingOf = new Map<TenantId, Load>();
  /** Requests that are not answered yet. */
  #unanswered = 0;
  /**
   * Tenants whose logs another node has locked, with the number of pools that wait for them. Their other requests stay
   * queued.
   */
  readonly #lockedElsewhere = new Map<TenantId, number>();
  /** The pools under way, in the order in which they were handed over. */
  readonly #underWay = new Set<{ readonly beganNs: number }>();
  /** Pending while anything waits or is under way; undefined when nothing does. */
  #busy: PromiseWithResolvers<void> | undefined;
  #failure: SequencerFigures['failure'];
  #pressedNs = Number.NEGATIVE_INFINITY;
  #isSoon = false;
  #isStopping = false;

  constructor(options: SequencerOptions) {
    this.#options = options;
    this.#limits = { ...LIMITS, ...options.limits };
  }

  figures(): SequencerFigures {
    const { clock } = this.#options;
    const [oldest] = this.#underWay;
    const nowNs = clock.monotonicNs();
    const commitMs = oldest === undefined ? 0 : (nowNs - oldest.beganNs) / 1e6;
    const pressedMsAgo = (nowNs - this.#pressedNs) / 1e6;
    return { waitingDrafts: this.#waiting.drafts, commitMs, pressedMsAgo, failure: this.#failure };
  }

  async probe(): Promise<void> {
    await this.#options.writer.probe();
    this.#failure = undefined;
  }

  append(request: EventsRequest): Promise<AppendResult>;
  append(request: AppendRequest): Promise<AppendResult | ChangeRefusal>;
  append(request: AppendRequest): Promise<AppendResult | ChangeRefusal> {
    const bytes = bytesOf(request);
    const refusal = this.#refusal(request, bytes);
    if (refusal !== undefined) return Promise.reject(refusal);
    this.#count(request, bytes, 1);
    this.#queuedDrafts += request.drafts.length;
    this.#unanswered += 1;
    this.#busy ??= Promise.withResolvers();
    return new Promise((resolve, reject) => {
      this.#queue.push({ request, bytes, resolve, reject });
      // A smaller pool waits: input that the process has already read can still join it.
      if (this.#queuedDrafts >= this.#limits.poolDraftsMin) this.#handOver();
      else this.#handOverSoon();
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isStopping = true;
    await this.#busy?.promise;
  }

  #refusal({ tenant, drafts }: AppendRequest, bytes: number): AuditError | undefined {
    if (this.#isStopping) return busy('The service is stopping.');
    const refusal = this.#options.refusalOf?.(tenant);
    if (refusal !== undefined) return refusedLog(tenant, refusal);
    const part = this.#partTaken(this.#waiting, drafts.length, bytes);
    if (part > 1) return busy('Too many events wait to be stored.');
    // A tenant that sends more than can be stored must not use up the room of the others.
    const own = part <= 1 / 2 ? undefined : this.#waitingOf.get(tenant);
    if (own !== undefined && this.#partTaken(own, drafts.length, bytes) > 1 / 4) {
      return busy('Too many events of this tenant wait to be stored.');
    }
    return undefined;
  }

  /** The used part of the limits, including these. */
  #partTaken(load: Load, drafts: number, bytes: number): number {
    const { waitingDraftsMax, waitingBytesMax } = this.#limits;
    return Math.max((load.drafts + drafts) / waitingDraftsMax, (load.bytes + bytes) / waitingBytesMax);
  }

  #count({ tenant, drafts }: AppendRequest, bytes: number, sign: 1 | -1): void {
    let own = this.#waitingOf.get(tenant);
    if (own === undefined) this.#waitingOf.set(tenant, (own = { drafts: 0, bytes: 0 }));
    for (const load of [this.#waiting, own]) {
      load.drafts += sign * drafts.length;
      load.bytes += sign * bytes;
    }
    if (own.drafts === 0) this.#waitingOf.delete(tenant);
  }

  #handOverSoon(): void {
    if (this.#isSoon || !this.#mayHandOver()) return;
    this.#isSoon = true;
    setImmediate(() => {
      this.#isSoon = false;
      this.#handOver();
    });
  }

  #handOver(): void {
    while (this.#mayHandOver()) {
      const pool = this.#takePool();
      if (pool.length === 0) break;
      void this.#commit(pool);
    }
    if (this.#unanswered > 0) return;
    this.#busy?.resolve();
    this.#busy = undefined;
  }

  #mayHandOver(): boolean {
    const { size } = this.#underWay;
    if (size === 0) return true;
    return size < POOLS_UNDER_WAY_MAX && this.#queuedDrafts >= this.#limits.poolDraftsMin;
  }

  #takePool(): Waiting[] {
    const { poolDraftsMax, poolBytesMax } = this.#limits;
    let drafts = 0;
    let bytes = 0;
    let count = 0;
    const free =
      this.#lockedElsewhere.size === 0
        ? this.#queue
        : this.#queue.filter(({ request }) => !this.#lockedElsewhere.has(request.tenant));
    for (const waiting of free) {
      drafts += waiting.request.drafts.length;
      bytes += waiting.bytes;
      if (count > 0 && (drafts > poolDraftsMax || bytes > poolBytesMax)) break;
      count += 1;
    }
    const pool = free.slice(0, count);
    const taken = new Set(pool);
    if (free === this.#queue) this.#queue.splice(0, count);
    else this.#queue = this.#queue.filter((waiting) => !taken.has(waiting));
    for (const { request } of pool) this.#queuedDrafts -= request.drafts.length;
    return pool;
  }

  async #commit(pool: readonly Waiting[]): Promise<void> {
    const { writer, clock, steadyNowMs } = this.#options;
    const requests = pool.map(({ request }) => request);
    const commit = { beganNs: clock.monotonicNs() };
    this.#underWay.add(commit);
    if (this.#underWay.size === POOLS_UNDER_WAY_MAX) this.#pressedNs = commit.beganNs;
    const open = new Set(pool);
    const leave = (waiting: Waiting) => {
      open.delete(waiting);
      this.#unanswered -= 1;
      this.#count(waiting.request, waiting.bytes, -1);
    };
    const answer = (waiting: Waiting, result: AppendOutcome | undefined) => {
      leave(waiting);
      settle(waiting, result);
    };
    let locked: ReadonlySet<TenantId> = new Set();
    const onLocked: OnLocked = (decided) => {
      for (const [place, result] of decided) answer(pool[place]!, result);
      locked = new Set([...open].map(({ request }) => request.tenant));
      this.#countLocked(locked, 1);
      if (decided.size > 0) this.#options.onCommitted?.();
      // The remaining requests wait for another node, not for the disk: other pools go first.
      this.#over(commit);
    };
    try {
      const results = await writer.append(
        requests,
        { nowMs: clock.now(), steadyNowMs: steadyNowMs() },
        onLocked,
      );
      this.#failure = undefined;
      for (const [i, waiting] of pool.entries()) if (open.has(waiting)) answer(waiting, results[i]);
      this.#options.onCommitted?.();
    } catch (error) {
      this.#failure ??= { atMs: clock.now(), error };
      for (const { reject } of open) reject(unavailable(error));
      this.#options.onFailure?.(error);
    } finally {
      for (const waiting of open) leave(waiting);
      this.#countLocked(locked, -1);
      this.#over(commit);
    }
  }

  #countLocked(tenants: ReadonlySet<TenantId>, pools: 1 | -1): void {
    for (const tenant of tenants) {
      const count = (this.#lockedElsewhere.get(tenant) ?? 0) + pools;
      if (count > 0) this.#lockedElsewhere.set(tenant, count);
      else this.#lockedElsewhere.delete(tenant);
    }
  }

  /** Removes it from the pools under way, if it is there. */
  #over(commit: { readonly beganNs: number }): void {
    this.#underWay.delete(commit);
    this.#handOver();
  }
}

function busy(message: string): AuditError {
  return new AuditError('SERVICE_UNAVAILABLE', message);
}

/** A fault of a single request is ours, not the caller's: it is reported, and shown as INTERNAL_ERROR. */
function settle({ resolve, reject }: Waiting, result: AppendOutcome | undefined): void {
  if (result === undefined) reject(new Error('the log gave no result for a request'));
  else if (result.status === 'Faulty') reject(result.error);
  else resolve(result);
}

function unavailable(cause: unknown): AuditError {
  return new AuditError(
    'SERVICE_UNAVAILABLE',
    'The log cannot be written at the moment; this may be stored or not. Repeat it with the same key or ids.',
    {
      cause,
    },
  );
}

function bytesOf({ drafts }: AppendRequest): number {
  let bytes = 0;
  for (const { texts } of drafts) bytes += texts[0].length + texts[1].length;
  return bytes;
}
