// Compares the index of events with the log, part by part and repeatedly: who changes the index hides events from lists and
// searches, and nobody would miss what is not shown. What differs is made again, and reported.

import type { Clock } from '../runtime/clock.ts';
import { type Loop, startLoop } from '../runtime/loop.ts';
import type { Random } from '../runtime/random.ts';
import type { Telemetry } from '../telemetry.ts';
import type { EventIndex } from './event-index.ts';

export interface IndexScrubberOptions {
  readonly index: Pick<EventIndex, 'checkNext'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly telemetry: Telemetry;
  readonly paceMs?: number;
}

const PACE_MS = 5000;
/** A start has other work to do. */
const FIRST_TURN = 12;
/** It rests so many times as long as it has worked: it takes a twentieth of one core. */
const RESTS = 19;
const ROUND_MS = 24 * 3_600_000;
const BACK_OFF_MS = 10_000;
const BACK_OFF_MS_MAX = 10 * 60_000;

export class IndexScrubber implements AsyncDisposable {
  readonly #options: IndexScrubberOptions;
  readonly #ending = new AbortController();
  #loop: Loop | undefined;
  #roundBeganNs: number | undefined;
  #restsUntilNs = 0;

  constructor(options: IndexScrubberOptions) {
    this.#options = options;
  }

  start(): void {
    const { clock, random, telemetry, paceMs = PACE_MS } = this.#options;
    this.#loop ??= startLoop({
      clock,
      random,
      paceMs,
      firstMs: FIRST_TURN * paceMs,
      backOffMs: BACK_OFF_MS,
      backOffMsMax: BACK_OFF_MS_MAX,
      turn: () => this.#turn(),
      onFailure: ({ error }) =>
        telemetry.warn('the index could not be compared with the log', { cause: String(error) }),
      onBroken: (error) => telemetry.error('the comparison of the index with the log has stopped', error),
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ending.abort();
    await this.#loop?.[Symbol.asyncDispose]();
  }

  async #turn(): Promise<void> {
    const { index, clock, telemetry } = this.#options;
    const beganNs = clock.monotonicNs();
    if (beganNs < this.#restsUntilNs) return;
    this.#roundBeganNs ??= beganNs;
    const { isRoundDone, fault } = await index.checkNext(this.#ending.signal);
    const nowNs = clock.monotonicNs();
    this.#restsUntilNs = nowNs + RESTS * (nowNs - beganNs);
    if (isRoundDone) {
      this.#restsUntilNs = Math.max(this.#restsUntilNs, this.#roundBeganNs + ROUND_MS * 1e6);
      this.#roundBeganNs = undefined;
    }
    if (fault === undefined) return;
    const { tenant, index: at, message } = fault;
    const facts = at === undefined ? { tenant } : { tenant, index: at };
    telemetry.error('the index differed from the log, and was made again', new Error(message), facts);
  }
}
