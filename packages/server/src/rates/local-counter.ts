// Counts of this process. A caller can make many partitions, by many addresses, so what is over is forgotten in time.

import type { Clock } from '../runtime/clock.ts';
import type { Count, Counter } from './counter.ts';

interface Window {
  used: number;
  readonly endsNs: number;
}

/** A window takes about 150 bytes. Beyond this, the oldest are forgotten: their senders have their permits again. */
const PARTITIONS_MAX = 100_000;
/** With each new window so many old ones are looked at, so that the map does not grow and nobody waits for a sweep. */
const LOOKED_AT = 2;

export class LocalCounter implements Counter {
  readonly #clock: Clock;
  /** In the order in which they began. */
  readonly #windows = new Map<string, Window>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(partition: string, windowMs: number | undefined): Count {
    const nowNs = this.#clock.monotonicNs();
    let window = this.#windows.get(partition);
    if (window === undefined || window.endsNs <= nowNs) {
      // Taken out first, so that it goes to the end.
      this.#windows.delete(partition);
      this.#forgetOld(nowNs);
      window = { used: 0, endsNs: windowMs === undefined ? Infinity : nowNs + windowMs * 1e6 };
      this.#windows.set(partition, window);
    }
    window.used += 1;
    return {
      used: window.used,
      endsInMs: window.endsNs === Infinity ? undefined : (window.endsNs - nowNs) / 1e6,
    };
  }

  clear(): void {
    this.#windows.clear();
  }

  get size(): number {
    return this.#windows.size;
  }

  #forgetOld(nowNs: number): void {
    let looked = 0;
    for (const [partition, { endsNs }] of this.#windows) {
      if (endsNs > nowNs && this.#windows.size < PARTITIONS_MAX) return;
      this.#windows.delete(partition);
      looked += 1;
      if (looked === LOOKED_AT) return;
    }
  }
}
