// Whether each level of service is broken. It takes some measurements in a row to say so, and more to say that it holds again, so
// that neither is said twice for one slow moment.

import type { ServiceLevel, ServiceLevelName } from '@tallystick/contract';

/** Measurements are made every five seconds. */
const BROKEN_AFTER = 3;
const HOLDS_AFTER = 12;

interface State {
  readonly isBroken: boolean;
  /** Measurements in a row that say otherwise. */
  readonly against: number;
}

const HOLDS: State = { isBroken: false, against: 0 };

export class LevelStates {
  readonly #states = new Map<ServiceLevelName, State>();

  note({ name, holds }: Pick<ServiceLevel, 'name' | 'holds'>): void {
    const { isBroken, against } = this.#states.get(name) ?? HOLDS;
    // A level that nothing speaks for is not broken.
    const isAgainst = isBroken ? holds !== false : holds === false;
    const needed = isBroken ? HOLDS_AFTER : BROKEN_AFTER;
    const next = !isAgainst
      ? { isBroken, against: 0 }
      : against + 1 >= needed
        ? { isBroken: !isBroken, against: 0 }
        : { isBroken, against: against + 1 };
    this.#states.set(name, next);
  }

  isBroken(name: ServiceLevelName): boolean {
    return this.#states.get(name)?.isBroken === true;
  }
}
