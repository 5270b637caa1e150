// How many requests are on their way: in all, and to each origin, so that one that hangs takes no more than its share. Who finds
// no free slot waits for one, for a while; origins that wait for the same one take turns.

import type { Clock } from '../../runtime/clock.ts';
import type { Course } from './course.ts';

export interface SlotLimits {
  readonly slotsMax: number;
  readonly slotsPerOriginMax: number;
  readonly waitMs: number;
}

interface Origin {
  readonly name: string;
  busy: number;
  /** The one that has waited longest comes first. */
  readonly waiting: Set<() => void>;
}

export class Slots {
  readonly #clock: Clock;
  readonly #limits: SlotLimits;
  readonly #origins = new Map<string, Origin>();
  /** Those that somebody waits for. */
  readonly #wanted = new Set<Origin>();
  #busy = 0;

  constructor(clock: Clock, limits: SlotLimits) {
    this.#clock = clock;
    this.#limits = limits;
  }

  get busy(): number {
    return this.#busy;
  }

  /** Undefined: it has one at once. Rejects with Busy, or with the end of the course; then there is none to give back. */
  take(name: string, course: Course): Promise<void> | undefined {
    const origin = this.#origins.get(name) ?? { name, busy: 0, waiting: new Set() };
    if (origin.waiting.size > 0 || !this.#hasRoom(origin)) return this.#wait(origin, course);
    this.#occupy(origin);
    return undefined;
  }

  give(name: string): void {
    const origin = this.#origins.get(name)!;
    origin.busy -= 1;
    this.#busy -= 1;
    this.#forgetUnused(origin);
    for (const each of this.#wanted) {
      if (!this.#hasRoom(each)) continue;
      const [grant] = each.waiting;
      return grant!();
    }
  }

  #wait(origin: Origin, course: Course): Promise<void> {
    const { waitMs } = this.#limits;
    return course.during((done, failed) => {
      const leave = () => {
        timer.cancel();
        origin.waiting.delete(grant);
        this.#wanted.delete(origin);
        if (origin.waiting.size > 0) this.#wanted.add(origin);
      };
      const grant = () => {
        leave();
        this.#occupy(origin);
        done();
      };
      const timer = this.#clock.after(waitMs, () => {
        leave();
        this.#forgetUnused(origin);
        failed(course.error('Busy', `${origin.name} was not asked: no slot was free within ${waitMs} ms`));
      });
      this.#origins.set(origin.name, origin);
      origin.waiting.add(grant);
      this.#wanted.add(origin);
      return () => {
        leave();
        this.#forgetUnused(origin);
      };
    });
  }

  #hasRoom(origin: Origin): boolean {
    return this.#busy < this.#limits.slotsMax && origin.busy < this.#limits.slotsPerOriginMax;
  }

  #occupy(origin: Origin): void {
    this.#origins.set(origin.name, origin);
    origin.busy += 1;
    this.#busy += 1;
  }

  #forgetUnused(origin: Origin): void {
    if (origin.busy === 0 && origin.waiting.size === 0) this.#origins.delete(origin.name);
  }
}
