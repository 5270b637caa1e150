// How many requests were answered, and how many of them failed, over the last hour, in constant memory: counts in slots of five
// minutes, of which the last twelve and the current one are kept.

const SLOT_NS = 300e9;
const SLOTS = 13;
export const OUTCOMES_NS = (SLOTS - 1) * SLOT_NS;

export interface Outcomes {
  readonly answered: number;
  /** Of these. */
  readonly failed: number;
}

export class OutcomeWindow {
  readonly #answered = new Uint32Array(SLOTS);
  readonly #failed = new Uint32Array(SLOTS);
  /** The number of the slot that each place holds; none at first. */
  readonly #slots = new Float64Array(SLOTS).fill(-1);

  note(isFailed: boolean, nowNs: number): void {
    const slot = Math.floor(nowNs / SLOT_NS);
    const place = slot % SLOTS;
    if (this.#slots[place] !== slot) {
      this.#slots[place] = slot;
      this.#answered[place] = 0;
      this.#failed[place] = 0;
    }
    this.#answered[place]! += 1;
    if (isFailed) this.#failed[place]! += 1;
  }

  read(nowNs: number): Outcomes {
    const oldest = Math.floor(nowNs / SLOT_NS) - SLOTS + 1;
    let [answered, failed] = [0, 0];
    for (const [place, slot] of this.#slots.entries()) {
      if (slot < oldest) continue;
      answered += this.#answered[place]!;
      failed += this.#failed[place]!;
    }
    return { answered, failed };
  }
}
