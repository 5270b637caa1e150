// Decides which log is submitted next: each log at most once at a time, few at the same time, in order of arrival. A
// log that did not get enough cosignatures waits as long as its turn says, and then shares a few slots with similar
// logs, so that the others are not held up however many logs a witness refuses. A log is queued once, however often it
// has grown; an empty queue has no timer.

import type { TenantId } from '@tallystick/contract';
import type { Clock, Timer } from '../../runtime/clock.ts';

export type TurnEnd =
  | 'Done'
  | {
      /** On the monotonic clock. */
      readonly againAtMs: number;
      /** A witness cosigned, so a larger checkpoint is worth a request at once. Undefined: no witness could be asked. */
      readonly wasHeard?: boolean;
    };

export interface WitnessQueueParts {
  readonly clock: Clock;
  /** Never rejects. */
  readonly turn: (tenant: TenantId) => Promise<TurnEnd>;
}

interface QueuedLog {
  wasHeard: boolean;
  /** Since its last turn began. */
  hasGrown: boolean;
}

const TURNS_AT_ONCE = 8;
/** The part of these for logs whose last turn did not bring enough cosignatures. */
const RETRIES_AT_ONCE = 2;

export class WitnessQueue implements AsyncDisposable {
  readonly #parts: WitnessQueueParts;
  readonly #logs = new Map<TenantId, QueuedLog>();
  /** A log is in one of these three unless its turn is running. */
  readonly #due = new Set<TenantId>();
  readonly #retries = new Set<TenantId>();
  readonly #waiting = new Map<TenantId, Timer>();
  readonly #running = new Set<Promise<void>>();
  #retriesRunning = 0;
  #state: 'Still' | 'Going' | 'Ended' = 'Still';

  constructor(parts: WitnessQueueParts) {
    this.#parts = parts;
  }

  start(): void {
    this.#state = 'Going';
    this.#go();
  }

  /** Reports a new checkpoint to submit. */
  add(tenant: TenantId): void {
    if (this.#state === 'Ended') return;
    const log = this.#logs.get(tenant);
    if (log === undefined) {
      this.#logs.set(tenant, { wasHeard: false, hasGrown: false });
      this.#due.add(tenant);
    } else {
      log.hasGrown = true;
      if (log.wasHeard) this.#hurry(tenant);
    }
    this.#go();
  }

  /** A witness is reachable again: waiting logs are submitted now. */
  wake(): void {
    for (const tenant of [...this.#retries, ...this.#waiting.keys()]) this.#hurry(tenant);
    this.#go();
  }

  size(): number {
    return this.#logs.size;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#state = 'Ended';
    for (const timer of this.#waiting.values()) timer.cancel();
    await Promise.all(this.#running);
  }

  #hurry(tenant: TenantId): void {
    this.#waiting.get(tenant)?.cancel();
    if (this.#waiting.delete(tenant) || this.#retries.delete(tenant)) this.#due.add(tenant);
  }

  #go(): void {
    if (this.#state !== 'Going') return;
    for (const tenant of this.#retries) {
      if (this.#retriesRunning >= RETRIES_AT_ONCE || this.#running.size >= TURNS_AT_ONCE) break;
      this.#retries.delete(tenant);
      this.#retriesRunning += 1;
      this.#begin(tenant, () => void (this.#retriesRunning -= 1));
    }
    for (const tenant of this.#due) {
      if (this.#running.size >= TURNS_AT_ONCE) return;
      this.#due.delete(tenant);
      this.#begin(tenant);
    }
  }

  #begin(tenant: TenantId, onEnd?: () => void): void {
    const running = this.#run(tenant, this.#logs.get(tenant)!).finally(() => {
      this.#running.delete(running);
      onEnd?.();
      this.#go();
    });
    this.#running.add(running);
  }

  async #run(tenant: TenantId, log: QueuedLog): Promise<void> {
    log.hasGrown = false;
    const end = await this.#parts.turn(tenant);
    if (end === 'Done') {
      if (log.hasGrown) this.#due.add(tenant);
      else this.#logs.delete(tenant);
      return;
    }
    log.wasHeard = end.wasHeard ?? log.wasHeard;
    if (end.wasHeard === true && log.hasGrown) this.#due.add(tenant);
    else if (this.#state !== 'Ended') this.#wait(tenant, end.againAtMs);
  }

  #wait(tenant: TenantId, untilMs: number): void {
    const { clock } = this.#parts;
    const timer = clock.after(Math.max(0, untilMs - clock.monotonicNs() / 1e6), () => {
      this.#waiting.delete(tenant);
      this.#retries.add(tenant);
      this.#go();
    });
    this.#waiting.set(tenant, timer);
  }
}
