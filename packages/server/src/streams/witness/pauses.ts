// Pauses after failures: of an unreachable witness, of one that refuses a log, and of a log that could not be submitted
// by our own fault. A pause doubles with each failure in a row. When it ends, one trial decides for all that wait: so
// an unreachable witness costs one request at a time, however many logs there are.

import type { Clock } from '../../runtime/clock.ts';
import { backOffMs } from '../../runtime/loop.ts';
import type { Random } from '../../runtime/random.ts';

interface Pause {
  failuresInARow: number;
  untilMs: number;
  /** A trial is under way. */
  isTried: boolean;
}

const PAUSE = { backOffMs: 1000, backOffMsMax: 60_000 };
const TRIAL_MS = 1000;

export class Pauses {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #pauses = new Map<string, Pause>();

  constructor(clock: Clock, random: Random) {
    this.#clock = clock;
    this.#random = random;
  }

  /** Whether it may be tried now; a call of `succeeded`, `failed` or `notTried` must follow. */
  take(name: string): boolean {
    const pause = this.#pauses.get(name);
    if (pause === undefined) return true;
    if (pause.isTried || this.#nowMs() < pause.untilMs) return false;
    pause.isTried = true;
    return true;
  }

  /** Returns whether there was a pause. */
  succeeded(name: string): boolean {
    return this.#pauses.delete(name);
  }

  /** Returns whether a pause begins. Trials that were under way when it began do not count again. */
  failed(name: string): boolean {
    const pause = this.#pauses.get(name);
    if (pause !== undefined && !pause.isTried) return false;
    const failuresInARow = (pause?.failuresInARow ?? 0) + 1;
    const untilMs = this.#nowMs() + backOffMs(PAUSE, failuresInARow, this.#random);
    this.#pauses.set(name, { failuresInARow, untilMs, isTried: false });
    return pause === undefined;
  }

  /** Ends a trial without a result. */
  notTried(name: string): void {
    const pause = this.#pauses.get(name);
    if (pause !== undefined) pause.isTried = false;
  }

  /** When to try again, on the monotonic clock. */
  nextMs(name: string): number {
    const pause = this.#pauses.get(name);
    return pause === undefined || pause.isTried ? this.#nowMs() + TRIAL_MS : pause.untilMs;
  }

  #nowMs(): number {
    return this.#clock.monotonicNs() / 1e6;
  }
}
