// Pauses between attempts to lock a log: they grow, up to a time limit.

import { type Clock, wait } from '../../../runtime/clock.ts';
import type { Random } from '../../../runtime/random.ts';

const WAITED_MS_MAX = 5000;
/** After this time, more frequent attempts do not help. */
const LONG_MS = 200;
const PAUSE_MS = 2;
const PAUSE_MS_MAX = 25;

export interface LockWaitParts {
  readonly clock: Clock;
  readonly random: Random;
}

export class LockWait {
  readonly #parts: LockWaitParts;
  readonly #beganNs: number;
  #pauseMs = PAUSE_MS;

  constructor(parts: LockWaitParts) {
    this.#parts = parts;
    this.#beganNs = parts.clock.monotonicNs();
  }

  get isLong(): boolean {
    return this.#waitedMs > LONG_MS;
  }

  /** False, and at once, when the time limit is reached. */
  async pause(): Promise<boolean> {
    if (this.#waitedMs > WAITED_MS_MAX) return false;
    const { clock, random } = this.#parts;
    await wait(clock, this.#pauseMs * (0.5 + random.fraction()));
    this.#pauseMs = Math.min(PAUSE_MS_MAX, this.#pauseMs * 2);
    return true;
  }

  get #waitedMs(): number {
    return (this.#parts.clock.monotonicNs() - this.#beganNs) / 1e6;
  }
}
