// Workers do jobs: each kind has a handler and a limit of concurrent jobs. A worker claims jobs, holds their leases while the
// handlers run, and saves their results, many in one commit. A handler whose lease could not be renewed in time is told to stop,
// so that no job is done by two at once.

import { type Clock, wait } from '../runtime/clock.ts';
import { type Loop, startLoop } from '../runtime/loop.ts';
import type { Random } from '../runtime/random.ts';
import type { Telemetry } from '../telemetry.ts';
import type { Claim, ClaimRef, ClaimRequest, Job, JobKind, JobOutcome, WorkStore } from './jobs.ts';
import type { Parking } from './lanes.ts';
import { OutcomeSaver } from './outcome-saver.ts';

/** Passed to a handler while it holds a job. */
export interface Holding {
  /** Aborts when the job is not held any more, or the service stops. */
  readonly signal: AbortSignal;
  /** Saved soon. */
  readonly progress: (text: string) => void;
}

/** What this process may claim at the moment. */
export interface ClaimLimits extends Pick<ClaimRequest, 'perTenant' | 'laneLimits' | 'otherLanesMax'> {
  /** When more may be claimed; undefined: when something else happens. */
  readonly moreInMs?: number | undefined;
}

export interface KindOfWork {
  readonly kind: JobKind;
  /** The limit of concurrent jobs in this process. */
  readonly atOnce: number;
  /** The limit of concurrent jobs in one lane, over all nodes. */
  readonly perLane: number;
  /** Asked before each claim. */
  limits?(): ClaimLimits;
  /** Undefined: that of all kinds. */
  readonly leaseMs?: number;
  /** What becomes of jobs whose lane is closed; undefined: they wait. */
  readonly parking?: Parking;
  /** Throws where it has failed: see `attemptsMax`. */
  handle(job: Job, holding: Holding): Promise<JobOutcome>;
  readonly attemptsMax: number;
  /** Undefined: all that there were. */
  attemptsOf?(job: Job): number;
  /**
   * The outcome of a job that has failed `attemptsMax` times, or whose holders have ended again and again; undefined: it becomes a
   * dead letter. Where it rejects it is asked again later.
   */
  outOfAttempts?(job: Job): JobOutcome | Promise<JobOutcome>;
}

export interface WorkerParts {
  readonly store: Pick<WorkStore, 'claim' | 'renew' | 'finish' | 'sweep'>;
  readonly kinds: readonly KindOfWork[];
  readonly clock: Clock;
  readonly random: Random;
  readonly telemetry: Pick<Telemetry, 'error' | 'warn'>;
  readonly leaseMs?: number;
}

export interface Workers extends AsyncDisposable {
  start(): void;
  /** There is something to do. */
  wake(kind: JobKind): void;
  readonly kinds: readonly JobKind[];
  /** The job under way in this process that has made no progress for the longest time, of each kind. */
  quietest(): readonly QuietJob[];
}

export interface QuietJob extends Pick<Job, 'tenant' | 'jobId' | 'kind'> {
  readonly quietMs: number;
}

/** An attempt to renew it ends, one way or the other, in half of it. */
const LEASE_MS = 30_000;
const ENDED = 'ended';
/** Jobs that another node has enqueued are found within this time. */
const PACE_MS = 1000;
/** A claim costs the store about the same for one job as for fifty, so a busy worker waits until several can be claimed at once. */
const CLAIM_EVERY_MS = 20;
const BACK_OFF_MS = 100;
const BACK_OFF_MS_MAX = 30_000;
/** Before a job that has failed is tried again, twice as long each time. */
const RETRY_MS = 1000;
const RETRY_MS_MAX = 3_600_000;
const PROGRESS_MS = 500;
const SWEEP_MS = 60_000;
/** A job whose holders were killed this often may be the cause. */
const KILLED_MAX = 10;

export function createWorkers(parts: WorkerParts): Workers {
  const workers = new Map(parts.kinds.map((kind) => [kind.kind, new Worker(kind, parts)]));
  let sweeper: Loop | undefined;
  return {
    start() {
      for (const worker of workers.values()) worker.start();
      sweeper ??= startSweeper(parts);
    },
    wake(kind) {
      workers.get(kind)?.wake();
    },
    kinds: parts.kinds.map(({ kind }) => kind),
    quietest: () => [...workers.values()].flatMap((worker) => worker.quietest() ?? []),
    async [Symbol.asyncDispose]() {
      await sweeper?.[Symbol.asyncDispose]();
      await Promise.all([...workers.values()].map((worker) => worker[Symbol.asyncDispose]()));
    },
  };
}

/** When it is due again, by what its end says. */
function againIn(outcome: JobOutcome): number {
  const { status, lanes = [] } = outcome;
  if (status !== 'Failed' && status !== 'PutOff') return Infinity;
  const rests = lanes.map((news) => (news.status === 'Rests' ? news.forMs : 0));
  return Math.max(0, (status === 'Failed' ? outcome.againInMs : outcome.forMs) ?? 0, ...rests);
}

function startSweeper({ store, clock, random, telemetry }: WorkerParts): Loop {
  return startLoop({
    clock,
    random,
    paceMs: SWEEP_MS,
    backOffMs: BACK_OFF_MS,
    backOffMsMax: BACK_OFF_MS_MAX,
    turn: async () => ((await store.sweep()) ? 'more' : undefined),
    onFailure: ({ error }) => telemetry.error('expired jobs could not be removed', error),
    onBroken: (error) => telemetry.error('expired jobs are no longer removed', error),
  });
}

/** A job under way. */
interface Running extends ClaimRef {
  readonly stop: AbortController;
  /** By the monotonic clock; before this time no other node can claim it. */
  heldUntilNs: number;
  progress: string | undefined;
  /** It was begun, or has said something new. */
  heardOfNs: number;
}

class Worker implements AsyncDisposable {
  readonly #kind: KindOfWork;
  readonly #parts: WorkerParts;
  readonly #leaseMs: number;
  readonly #running = new Set<Running>();
  readonly #underWay = new Set<Promise<void>>();
  readonly #saver: OutcomeSaver;
  #loop: Loop | undefined;
  #keeper: Loop | undefined;
  #renewedNs = 0;
  #claimedNs = -Infinity;
  #isStopping = false;
  /** When it wakes by itself. */
  #wakesAtNs = Infinity;
  readonly #stopped = new AbortController();

  constructor(kind: KindOfWork, parts: WorkerParts) {
    this.#kind = kind;
    this.#parts = parts;
    this.#leaseMs = kind.leaseMs ?? parts.leaseMs ?? LEASE_MS;
    this.#saver = new OutcomeSaver({ ...parts, stopped: this.#stopped.signal });
  }

  start(): void {
    const { clock, random, telemetry } = this.#parts;
    const { kind } = this.#kind;
    const common = { clock, random, backOffMs: BACK_OFF_MS, backOffMsMax: BACK_OFF_MS_MAX };
    this.#loop ??= startLoop({
      ...common,
      paceMs: PACE_MS,
      turn: () => this.#claim(),
      onFailure: ({ error }) => telemetry.error(`jobs could not be claimed`, error, { kind }),
      onBroken: (error) => telemetry.error(`jobs are no longer claimed`, error, { kind }),
    });
    this.#keeper ??= startLoop({
      ...common,
      paceMs: this.#leaseMs / 3,
      turn: () => this.#renew(),
      onFailure: ({ error }) => telemetry.error(`the leases of jobs could not be renewed`, error, { kind }),
      onBroken: (error) => telemetry.error(`the leases of jobs are no longer renewed`, error, { kind }),
    });
  }

  wake(): void {
    this.#loop?.wake();
  }

  quietest(): QuietJob | undefined {
    let quietest: Running | undefined;
    for (const each of this.#running)
      if (quietest === undefined || each.heardOfNs < quietest.heardOfNs) quietest = each;
    if (quietest === undefined) return undefined;
    const { tenant, jobId, heardOfNs } = quietest;
    const quietMs = Math.floor((this.#parts.clock.monotonicNs() - heardOfNs) / 1e6);
    return { tenant, jobId, kind: this.#kind.kind, quietMs };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isStopping = true;
    this.#stopped.abort();
    await this.#loop?.[Symbol.asyncDispose]();
    for (const { stop } of this.#running) stop.abort();
    await Promise.all(this.#underWay);
    await this.#keeper?.[Symbol.asyncDispose]();
  }

  async #claim(): Promise<'more' | undefined> {
    const { kind, atOnce, perLane, parking } = this.#kind;
    const max = atOnce - this.#running.size;
    if (max <= 0 || this.#isStopping) return undefined;
    const sinceNs = this.#parts.clock.monotonicNs();
    const nextInMs = CLAIM_EVERY_MS - (sinceNs - this.#claimedNs) / 1e6;
    if (this.#running.size > 0 && nextInMs > 0) {
      this.#wakeIn(nextInMs);
      return undefined;
    }
    this.#claimedNs = sinceNs;
    const { moreInMs, ...limits } = this.#kind.limits?.() ?? {};
    const request = { kind, max, perLane, leaseMs: this.#leaseMs, parking, ...limits };
    const claims = await this.#parts.store.claim(request);
    for (const claim of claims) this.#begin(claim, sinceNs);
    if (moreInMs !== undefined) this.#wakeIn(moreInMs);
    return claims.length === max ? 'more' : undefined;
  }

  #wakeIn(ms: number): void {
    const { clock } = this.#parts;
    const atNs = clock.monotonicNs() + ms * 1e6;
    if (this.#wakesAtNs <= atNs) return;
    this.#wakesAtNs = atNs;
    void wait(clock, Math.max(1, Math.ceil(ms)), this.#stopped.signal).finally(() => {
      if (this.#wakesAtNs === atNs) this.#wakesAtNs = Infinity;
      this.#loop?.wake();
    });
  }

  #begin({ job, token }: Claim, sinceNs: number): void {
    const running: Running = {
      tenant: job.tenant,
      jobId: job.jobId,
      token,
      stop: new AbortController(),
      heldUntilNs: this.#untilNs(sinceNs),
      progress: undefined,
      heardOfNs: sinceNs,
    };
    this.#running.add(running);
    const ended = new AbortController();
    void this.#stopInTime(running, ended.signal);
    const work = this.#run(job, running).finally(() => {
      // With a reason of its own no exception is made for it.
      ended.abort(ENDED);
      this.#running.delete(running);
      this.#underWay.delete(work);
      this.#loop?.wake();
    });
    this.#underWay.add(work);
  }

  /** Never rejects. */
  async #run(job: Job, running: Running): Promise<void> {
    const { tenant, jobId, token, stop } = running;
    const holding: Holding = {
      signal: stop.signal,
      progress: (text) => {
        if (text !== running.progress) running.heardOfNs = this.#parts.clock.monotonicNs();
        running.progress = text;
        if (this.#parts.clock.monotonicNs() - this.#renewedNs >= PROGRESS_MS * 1e6) this.#keeper?.wake();
      },
    };
    let outcome: JobOutcome;
    try {
      if (this.#attemptsOf(job) > this.#kind.attemptsMax + KILLED_MAX)
        throw new Error(`its holders have ended ${KILLED_MAX} times without a result`);
      outcome = await this.#kind.handle(job, holding);
    } catch (error) {
      outcome = await this.#outcomeOf(error, job, stop.signal);
    }
    await this.#saver.save({ tenant, jobId, token, outcome });
    const againInMs = againIn(outcome);
    if (againInMs < PACE_MS) this.#wakeIn(againInMs);
  }

  #attemptsOf(job: Job): number {
    return this.#kind.attemptsOf?.(job) ?? job.attempts;
  }

  /** Never rejects. */
  async #outcomeOf(error: unknown, job: Job, { aborted }: AbortSignal): Promise<JobOutcome> {
    // Stopped, not failed: the next claim continues.
    if (aborted) return { status: 'PutOff' };
    const { telemetry } = this.#parts;
    const { kind, tenant, jobId } = job;
    const attempts = this.#attemptsOf(job);
    const reason = error instanceof Error ? error.message : String(error);
    telemetry.warn('a job has failed', { kind, tenant, jobId, attempts, reason });
    if (attempts >= this.#kind.attemptsMax) {
      try {
        return (await this.#kind.outOfAttempts?.(job)) ?? { status: 'Dead', reason };
      } catch (failure) {
        telemetry.error('the end of a job could not be told', failure, { kind, tenant, jobId });
      }
    }
    return { status: 'Failed', reason, againInMs: Math.min(RETRY_MS * 2 ** (attempts - 1), RETRY_MS_MAX) };
  }

  async #renew(): Promise<void> {
    const { clock, store } = this.#parts;
    const running = [...this.#running];
    if (running.length === 0) return;
    const sinceNs = (this.#renewedNs = clock.monotonicNs());
    const refs = running.map(({ tenant, jobId, token, progress }) => ({ tenant, jobId, token, progress }));
    const held = await store.renew(refs, this.#leaseMs);
    for (const [i, each] of running.entries()) {
      if (held[i]) each.heldUntilNs = this.#untilNs(sinceNs);
      else each.stop.abort();
    }
  }

  /** Does not depend on the renewals: one may hang, or pause after failures for longer than the lease. */
  async #stopInTime(running: Running, ended: AbortSignal): Promise<void> {
    const { clock } = this.#parts;
    while (!ended.aborted) {
      const leftNs = running.heldUntilNs - clock.monotonicNs();
      if (leftNs <= 0) return running.stop.abort();
      await wait(clock, Math.ceil(leftNs / 1e6), ended);
    }
  }

  /** A third of the lease is left for the handler to stop in. */
  #untilNs(sinceNs: number): number {
    return sinceNs + (this.#leaseMs * 1e6 * 2) / 3;
  }
}
