// How many requests are on their way: in all, and for each sharer, an origin or one party's part of it, so that an origin that hangs takes
// no more than its share. Who finds no free slot waits for one, for a while; sharers that wait for the same one take turns.

import type { Clock } from '../../runtime/clock.ts';
import type { Course } from './course.ts';

export interface SlotLimits {
  readonly slotsMax: number;
  readonly slotsPerOriginMax: number;
  readonly waitMs: number;
}

interface Sharer {
  readonly name: string;
  busy: number;
  /** The one that has waited longest comes first. */
  readonly waiting: Set<() => void>;
}

export class Slots {
  readonly #clock: Clock;
  readonly #limits: SlotLimits;
  readonly #sharers = new Map<string, Sharer>();
  /** Those that somebody waits for. */
  readonly #wanted = new Set<Sharer>();
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
    const sharer = this.#sharers.get(name) ?? { name, busy: 0, waiting: new Set() };
    if (sharer.waiting.size > 0 || !this.#hasRoom(sharer)) return this.#wait(sharer, course);
    this.#occupy(sharer);
    return undefined;
  }

  give(name: string): void {
    const sharer = this.#sharers.get(name)!;
    sharer.busy -= 1;
    this.#busy -= 1;
    this.#forgetUnused(sharer);
    for (const each of this.#wanted) {
      if (!this.#hasRoom(each)) continue;
      const [grant] = each.waiting;
      return grant!();
    }
  }

  #wait(sharer: Sharer, course: Course): Promise<void> {
    const { waitMs } = this.#limits;
    return course.during((done, failed) => {
      const leave = () => {
        timer.cancel();
        sharer.waiting.delete(grant);
        this.#wanted.delete(sharer);
        if (sharer.waiting.size > 0) this.#wanted.add(sharer);
      };
      const grant = () => {
        leave();
        this.#occupy(sharer);
        done();
      };
      const timer = this.#clock.after(waitMs, () => {
        leave();
        this.#forgetUnused(sharer);
        failed(course.error('Busy', `${sharer.name} was not asked: no slot was free within ${waitMs} ms`));
      });
      this.#sharers.set(sharer.name, sharer);
      sharer.waiting.add(grant);
      this.#wanted.add(sharer);
      return () => {
        leave();
        this.#forgetUnused(sharer);
      };
    });
  }

  #hasRoom(sharer: Sharer): boolean {
    return this.#busy < this.#limits.slotsMax && sharer.busy < this.#limits.slotsPerOriginMax;
  }

  #occupy(sharer: Sharer): void {
    this.#sharers.set(sharer.name, sharer);
    sharer.busy += 1;
    this.#busy += 1;
  }

  #forgetUnused(sharer: Sharer): void {
    if (sharer.busy === 0 && sharer.waiting.size === 0) this.#sharers.delete(sharer.name);
  }
}
