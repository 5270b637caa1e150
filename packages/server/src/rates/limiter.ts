// A limiter with fixed windows: so many permits for each partition in each window, and a queue for those who come too late.

import type { Clock } from '../runtime/clock.ts';
import type { Count, Counter } from './counter.ts';

export interface LimiterSettings {
  /** How it is called in messages and by the operation that gives permits back. */
  readonly name: string;
  readonly windowMs: number;
  /** Off: permits come back only when `replenish` is called. */
  readonly autoReplenishment: boolean;
  readonly queueLimit: number;
}

/** How a limiter stands after a request. */
export interface RateState {
  readonly limiter: string;
  readonly limit: number;
  readonly remaining: number;
  readonly isGranted: boolean;
  readonly windowMs: number;
  /** Until permits come back, as far as that is known. */
  readonly resetsInMs: number;
}

interface Waiting {
  readonly limit: number;
  readonly isGone: () => boolean;
  readonly untilNs: number;
  readonly settle: (state: RateState) => void;
}

/** A request in the queue gets no answer, so it waits no longer than any other is worked on. */
const WAIT_MS_MAX = 30_000;
const NEVER_GONE = () => false;

export class Limiter {
  readonly #settings: LimiterSettings;
  readonly #counter: Counter;
  readonly #clock: Clock;
  readonly #queues = new Map<string, Waiting[]>();

  constructor(settings: LimiterSettings, counter: Counter, clock: Clock) {
    this.#settings = settings;
    this.#counter = counter;
    this.#clock = clock;
  }

  get name(): string {
    return this.#settings.name;
  }

  /** Takes one of the partition's permits. At once, where the count is in this process and nobody has to wait. */
  take(partition: string, limit: number, isGone: () => boolean = NEVER_GONE): RateState | Promise<RateState> {
    // Who comes now stands behind those who wait.
    const queue = this.#queues.get(partition);
    if (queue !== undefined && queue.length > 0) return this.#enqueue(partition, limit, isGone, undefined);
    const count = this.#count(partition);
    return count instanceof Promise
      ? count.then((counted) => this.#judge(partition, limit, isGone, counted))
      : this.#judge(partition, limit, isGone, count);
  }

  /** All permits are there again; those who wait have the first of them. */
  async replenish(): Promise<void> {
    await this.#counter.clear();
    await Promise.all([...this.#queues.keys()].map((partition) => this.#serveQueue(partition)));
  }

  #count(partition: string): Count | Promise<Count> {
    const { windowMs, autoReplenishment } = this.#settings;
    return this.#counter.add(partition, autoReplenishment ? windowMs : undefined);
  }

  #judge(
    partition: string,
    limit: number,
    isGone: () => boolean,
    count: Count,
  ): RateState | Promise<RateState> {
    const state = this.#stateOf(limit, count);
    return state.isGranted || this.#settings.queueLimit === 0
      ? state
      : this.#enqueue(partition, limit, isGone, count.endsInMs);
  }

  #stateOf(limit: number, { used, endsInMs }: Count): RateState {
    return {
      limiter: this.#settings.name,
      limit,
      remaining: Math.max(0, limit - used),
      isGranted: used <= limit,
      windowMs: this.#settings.windowMs,
      resetsInMs: endsInMs ?? this.#settings.windowMs,
    };
  }

  /** Undefined: the queue is being served already. */
  #enqueue(
    partition: string,
    limit: number,
    isGone: () => boolean,
    endsInMs: number | undefined,
  ): RateState | Promise<RateState> {
    const queue = this.#queues.get(partition) ?? [];
    if (queue.length >= this.#settings.queueLimit) return this.#refusal(limit);
    const isFirst = queue.length === 0;
    this.#queues.set(partition, queue);
    return new Promise((settle) => {
      queue.push({ limit, isGone, untilNs: this.#clock.monotonicNs() + WAIT_MS_MAX * 1e6, settle });
      if (isFirst) this.#wakeLater(partition, endsInMs);
    });
  }

  #wakeLater(partition: string, endsInMs: number | undefined): void {
    const delayMs = Math.min(Math.ceil(endsInMs ?? WAIT_MS_MAX) + 1, WAIT_MS_MAX);
    this.#clock.after(delayMs, () => {
      // A counter never rejects: what it shares may be away, and then it counts here.
      void this.#serveQueue(partition);
    });
  }

  async #serveQueue(partition: string): Promise<void> {
    const queue = this.#queues.get(partition) ?? [];
    let endsInMs: number | undefined;
    while (queue.length > 0) {
      const first = queue[0]!;
      const isLate = this.#clock.monotonicNs() >= first.untilNs;
      if (first.isGone() || isLate) {
        queue.shift();
        first.settle(this.#refusal(first.limit));
        continue;
      }
      const counted = this.#count(partition);
      const count = counted instanceof Promise ? await counted : counted;
      const state = this.#stateOf(first.limit, count);
      if (!state.isGranted) {
        endsInMs = count.endsInMs;
        break;
      }
      // Another round may have served it while this one waited for the count.
      if (queue[0] === first) queue.shift();
      first.settle(state);
    }
    if (queue.length > 0) this.#wakeLater(partition, endsInMs);
    else this.#queues.delete(partition);
  }

  #refusal(limit: number): RateState {
    const { name, windowMs } = this.#settings;
    return { limiter: name, limit, remaining: 0, isGranted: false, windowMs, resetsInMs: windowMs };
  }
}
