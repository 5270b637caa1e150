// Whose log is submitted next: each log at most once at a time, few at the same time, first come, first served, and
// those that did not get enough again after a pause that grows. Retries share a few of the turns, so that they leave room
// for the others however many logs a witness refuses. A log stands in it once, however often it has grown, and
// not at all when nothing is left to do: then there is no timer either.

import type { TenantId } from '@tallystick/contract';
import type { Clock, Timer } from '../runtime/clock.ts';
import type { Random } from '../runtime/random.ts';
import { backOffMs } from './witness-rests.ts';

export type TurnEnd =
  | { readonly kind: 'Done' }
  /** Nobody could be asked; look again at this time of the monotonic clock. */
  | { readonly kind: 'Held'; readonly untilMs: number }
  /** Not enough. `wasHeard`: somebody cosigned, so what the log has grown by is worth a request at once. */
  | { readonly kind: 'Unmet'; readonly wasHeard: boolean };

export interface WitnessQueueParts {
  readonly clock: Clock;
  readonly random: Random;
  /** Never rejects. */
  readonly turn: (tenant: TenantId) => Promise<TurnEnd>;
}

interface Place {
  failuresInARow: number;
  wasHeard: boolean;
  /** Since its last turn began. */
  hasGrown: boolean;
  /** While it waits. */
  dueMs: number | undefined;
}

export const TURNS_AT_ONCE = 8;
/** Of these, for logs whose last turn did not bring enough cosignatures. */
const AGAIN_AT_ONCE = 2;
/** Looking through all that wait is cheap, and still not done for each of them. */
const LOOK_MS_MIN = 250;

export class WitnessQueue implements AsyncDisposable {
  readonly #parts: WitnessQueueParts;
  readonly #places = new Map<TenantId, Place>();
  readonly #due = new Set<TenantId>();
  readonly #dueAgain = new Set<TenantId>();
  readonly #waiting = new Set<TenantId>();
  readonly #running = new Set<Promise<void>>();
  #runningAgain = 0;
  #look: { readonly atMs: number; readonly timer: Timer } | undefined;
  #state: 'Still' | 'Going' | 'Ended' = 'Still';

  constructor(parts: WitnessQueueParts) {
    this.#parts = parts;
  }

  start(): void {
    this.#state = 'Going';
    this.#go();
  }

  /** There is something new to submit. */
  add(tenant: TenantId): void {
    if (this.#state === 'Ended') return;
    const place = this.#places.get(tenant);
    if (place === undefined) {
      const fresh = { failuresInARow: 0, wasHeard: false, hasGrown: false, dueMs: undefined };
      this.#places.set(tenant, fresh);
      this.#due.add(tenant);
    } else {
      place.hasGrown = true;
      if (place.wasHeard && (this.#waiting.delete(tenant) || this.#dueAgain.delete(tenant))) {
        this.#due.add(tenant);
      }
    }
    this.#go();
  }

  /** A witness is back: nobody waits any longer. */
  wake(): void {
    for (const waiting of [this.#dueAgain, this.#waiting]) {
      for (const tenant of waiting) this.#due.add(tenant);
      waiting.clear();
    }
    this.#go();
  }

  size(): number {
    return this.#places.size;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#state = 'Ended';
    this.#look?.timer.cancel();
    await Promise.all(this.#running);
  }

  #go(): void {
    if (this.#state !== 'Going') return;
    for (const tenant of this.#dueAgain) {
      if (this.#runningAgain >= AGAIN_AT_ONCE || this.#running.size >= TURNS_AT_ONCE) break;
      this.#dueAgain.delete(tenant);
      this.#runningAgain += 1;
      this.#begin(tenant, () => void (this.#runningAgain -= 1));
    }
    for (const tenant of this.#due) {
      if (this.#running.size >= TURNS_AT_ONCE) return;
      this.#due.delete(tenant);
      this.#begin(tenant);
    }
  }

  #begin(tenant: TenantId, onEnd?: () => void): void {
    const running = this.#run(tenant, this.#places.get(tenant)!).finally(() => {
      this.#running.delete(running);
      onEnd?.();
      this.#go();
    });
    this.#running.add(running);
  }

  async #run(tenant: TenantId, place: Place): Promise<void> {
    place.hasGrown = false;
    const end = await this.#parts.turn(tenant);
    if (end.kind === 'Done') {
      if (!place.hasGrown) {
        this.#places.delete(tenant);
        return;
      }
      place.failuresInARow = 0;
      this.#due.add(tenant);
    } else if (end.kind === 'Held') {
      this.#wait(tenant, place, end.untilMs);
    } else {
      place.failuresInARow += 1;
      place.wasHeard = end.wasHeard;
      if (end.wasHeard && place.hasGrown) this.#due.add(tenant);
      else this.#wait(tenant, place, this.#nowMs() + backOffMs(place.failuresInARow, this.#parts.random));
    }
  }

  #wait(tenant: TenantId, place: Place, dueMs: number): void {
    place.dueMs = dueMs;
    this.#waiting.add(tenant);
    this.#lookAt(dueMs);
  }

  #lookAt(dueMs: number): void {
    if (this.#state === 'Ended') return;
    const atMs = Math.max(dueMs, this.#nowMs() + LOOK_MS_MIN);
    if (this.#look !== undefined && this.#look.atMs <= atMs) return;
    this.#look?.timer.cancel();
    const timer = this.#parts.clock.after(atMs - this.#nowMs(), () => this.#lookThrough());
    this.#look = { atMs, timer };
  }

  #lookThrough(): void {
    this.#look = undefined;
    const nowMs = this.#nowMs();
    let nextMs = Infinity;
    for (const tenant of this.#waiting) {
      const dueMs = this.#places.get(tenant)?.dueMs ?? nowMs;
      if (dueMs > nowMs) {
        nextMs = Math.min(nextMs, dueMs);
      } else {
        this.#waiting.delete(tenant);
        this.#dueAgain.add(tenant);
      }
    }
    if (this.#waiting.size > 0) this.#lookAt(nextMs);
    this.#go();
  }

  #nowMs(): number {
    return this.#parts.clock.monotonicNs() / 1e6;
  }
}
