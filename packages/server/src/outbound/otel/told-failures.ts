// Says that a receiver does not take what is sent: at the first failure, then once a minute, and when it takes it again. One that
// is away for a day must not fill the diagnostics.

import type { Clock } from '../../runtime/clock.ts';
import type { Facts, Telemetry } from '../../telemetry.ts';

export interface TellingParts {
  readonly clock: Pick<Clock, 'monotonicNs'>;
  readonly telemetry: Pick<Telemetry, 'warn' | 'info'>;
}

const TOLD_EVERY_NS = 60e9;

export class ToldFailures {
  readonly #what: string;
  readonly #parts: TellingParts;
  #toldNs: number | undefined;

  constructor(what: 'traces' | 'metrics' | 'metrics of the store', parts: TellingParts) {
    this.#what = what;
    this.#parts = parts;
  }

  failed(error: Error | undefined, facts: Facts = {}): void {
    const { clock, telemetry } = this.#parts;
    const nowNs = clock.monotonicNs();
    if (this.#toldNs !== undefined && nowNs - this.#toldNs < TOLD_EVERY_NS) return;
    this.#toldNs = nowNs;
    telemetry.warn(`${this.#what} could not be exported`, { ...facts, reason: error?.message });
  }

  succeeded(): void {
    if (this.#toldNs !== undefined) this.#parts.telemetry.info(`${this.#what} are exported again`);
    this.#toldNs = undefined;
  }
}
