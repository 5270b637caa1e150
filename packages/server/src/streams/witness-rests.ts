// Which witnesses are asked at the moment. One that failed rests for a while, longer each time, and then is tried by one
// submission before the others may ask it again. One instance, shared by all logs, holds the witnesses that cannot be
// reached: such a witness costs one request now and then, however many logs there are, and holds up none of them. Each log
// has an instance of its own for witnesses that answered this log with an error and may still cosign others.

import type { Clock } from '../runtime/clock.ts';
import type { Random } from '../runtime/random.ts';

interface Rest {
  failuresInARow: number;
  untilMs: number;
  /** A submission under way finds out whether it is back. */
  isTried: boolean;
}

const REST_MS = 1000;
const REST_MS_MAX = 60_000;
const JITTER = 0.2;
const TRIAL_MS = 1000;

/** Doubled for each further failure in a row, and never in step with others. */
export function backOffMs(failuresInARow: number, random: Random): number {
  const plainMs = Math.min(REST_MS * 2 ** (failuresInARow - 1), REST_MS_MAX);
  return Math.round(plainMs * (1 + JITTER * (2 * random.fraction() - 1)));
}

export class WitnessRests {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #rests = new Map<string, Rest>();

  constructor(clock: Clock, random: Random) {
    this.#clock = clock;
    this.#random = random;
  }

  /** Whether it may be asked now; then `answered`, `failed` or `notAsked` follows. */
  take(witness: string): boolean {
    const rest = this.#rests.get(witness);
    if (rest === undefined) return true;
    if (rest.isTried || this.#nowMs() < rest.untilMs) return false;
    rest.isTried = true;
    return true;
  }

  /** Whether it had been resting. */
  answered(witness: string): boolean {
    return this.#rests.delete(witness);
  }

  /** Whether it begins to rest now. Those that had asked it before it rested do not count again. */
  failed(witness: string): boolean {
    const rest = this.#rests.get(witness);
    if (rest === undefined) {
      this.#rests.set(witness, { failuresInARow: 1, untilMs: this.#untilMs(1), isTried: false });
      return true;
    }
    if (rest.isTried) {
      rest.failuresInARow += 1;
      rest.untilMs = this.#untilMs(rest.failuresInARow);
      rest.isTried = false;
    }
    return false;
  }

  /** It was taken, and nothing is known of it since. */
  notAsked(witness: string): void {
    const rest = this.#rests.get(witness);
    if (rest !== undefined) rest.isTried = false;
  }

  /** When it is worth trying to take it again; in the time of the monotonic clock. */
  nextMs(witness: string): number {
    const rest = this.#rests.get(witness);
    return rest === undefined || rest.isTried ? this.#nowMs() + TRIAL_MS : rest.untilMs;
  }

  #untilMs(failuresInARow: number): number {
    return this.#nowMs() + backOffMs(failuresInARow, this.#random);
  }

  #nowMs(): number {
    return this.#clock.monotonicNs() / 1e6;
  }
}
