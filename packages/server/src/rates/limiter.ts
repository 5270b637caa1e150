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

interface Queue {
  readonly waiting: Waiting[];
  /** When permits come back, as far as that is known. */
  endsNs: number | undefined;
}

/** A request in the queue gets no answer, so it waits no longer than any other is worked on. */
const WAIT_MS_MAX = 30_000;
const NEVER_GONE = () => false;

export class Limiter {
  readonly #settings: LimiterSettings;
  readonly #counter: Counter;
  readonly #clock: Clock;
  readonly #queues = new Map<string, Queue>();
  #isStopping = false;

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
    if (queue !== undefined) return this.#enqueue(partition, queue, limit, isGone);
    const count = this.#count(partition);
    return count instanceof Promise
      ? count.then((counted) => this.#judge(partition, limit, isGone, counted))
      : this.#judge(partition, limit, isGone, count);
  }

  /** All permits are there again; those who wait have the first of them. */
  async replenish(): Promise<void> {
    try {
      await this.#counter.clear();
    } finally {
      await Promise.all([...this.#queues].map(([partition, queue]) => this.#serve(partition, queue)));
    }
  }

  /** Nobody waits any more, from now on: the process stops, and each request is to have an answer before. */
  stopWaiting(): void {
    this.#isStopping = true;
    for (const queue of this.#queues.values())
      for (const { limit, settle } of queue.waiting.splice(0)) settle(this.#refusal(limit, queue));
    this.#queues.clear();
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
    if (state.isGranted || this.#settings.queueLimit === 0) return state;
    // Another request may have begun to wait while this one was counted.
    const queue = this.#queues.get(partition) ?? { waiting: [], endsNs: undefined };
    if (count.endsInMs !== undefined) queue.endsNs = this.#clock.monotonicNs() + count.endsInMs * 1e6;
    return this.#enqueue(partition, queue, limit, isGone);
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

  #enqueue(
    partition: string,
    queue: Queue,
    limit: number,
    isGone: () => boolean,
  ): RateState | Promise<RateState> {
    const { waiting } = queue;
    if (this.#isStopping || waiting.length >= this.#settings.queueLimit) return this.#refusal(limit, queue);
    return new Promise((settle) => {
      waiting.push({ limit, isGone, untilNs: this.#clock.monotonicNs() + WAIT_MS_MAX * 1e6, settle });
      if (waiting.length > 1) return;
      this.#queues.set(partition, queue);
      this.#serveLater(partition, queue);
    });
  }

  #serveLater(partition: string, queue: Queue): void {
    const delayMs = Math.min(Math.ceil(this.#leftMs(queue) ?? WAIT_MS_MAX) + 1, WAIT_MS_MAX);
    this.#clock.after(delayMs, () => {
      // A counter never rejects: what it shares may be away, and then it counts here.
      void this.#serve(partition, queue);
    });
  }

  async #serve(partition: string, queue: Queue): Promise<void> {
    const { waiting } = queue;
    while (waiting.length > 0) {
      const first = waiting[0]!;
      const isLate = this.#clock.monotonicNs() >= first.untilNs;
      if (first.isGone() || isLate) {
        waiting.shift();
        first.settle(this.#refusal(first.limit, queue));
        continue;
      }
      const counted = this.#count(partition);
      const count = counted instanceof Promise ? await counted : counted;
      const state = this.#stateOf(first.limit, count);
      queue.endsNs =
        count.endsInMs === undefined ? undefined : this.#clock.monotonicNs() + count.endsInMs * 1e6;
      if (!state.isGranted) break;
      // Another round may have served it while this one waited for the count.
      if (waiting[0] === first) waiting.shift();
      first.settle(state);
    }
    if (waiting.length > 0) this.#serveLater(partition, queue);
    else if (this.#queues.get(partition) === queue) this.#queues.delete(partition);
  }

  #refusal(limit: number, queue: Queue): RateState {
    const { name, windowMs } = this.#settings;
    const resetsInMs = this.#leftMs(queue) ?? windowMs;
    return { limiter: name, limit, remaining: 0, isGranted: false, windowMs, resetsInMs };
  }

  #leftMs({ endsNs }: Queue): number | undefined {
    return endsNs === undefined ? undefined : Math.max(0, endsNs - this.#clock.monotonicNs()) / 1e6;
  }
}
