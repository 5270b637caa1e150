// Shares a read among all who ask for it at about the same time. Results are kept for a moment only, since each may be large.

import type { Clock } from '../runtime/clock.ts';

/** Short, since what is deleted within this time may still be sent. */
const KEPT_NS = 50e6;
const KEPT_MAX = 1000;

interface Read<T> {
  readonly value: Promise<T>;
  readonly fromNs: number;
}

export class RecentReads<T> {
  readonly #clock: Pick<Clock, 'monotonicNs'>;
  /** The oldest first. */
  readonly #kept = new Map<string, Read<T>>();

  constructor(clock: Pick<Clock, 'monotonicNs'>) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#kept.size;
  }

  get(key: string, read: () => Promise<T>): Promise<T> {
    const nowNs = this.#clock.monotonicNs();
    this.#dropOld(nowNs);
    const kept = this.#kept.get(key);
    if (kept !== undefined) return kept.value;
    const made = { value: read(), fromNs: nowNs };
    this.#kept.set(key, made);
    made.value.catch(() => {
      if (this.#kept.get(key) === made) this.#kept.delete(key);
    });
    return made.value;
  }

  #dropOld(nowNs: number): void {
    for (const [key, { fromNs }] of this.#kept) {
      if (nowNs - fromNs < KEPT_NS && this.#kept.size < KEPT_MAX) return;
      this.#kept.delete(key);
    }
  }
}
