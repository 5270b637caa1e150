// Saves the outcomes of jobs, many in one commit. A commit that fails is tried again while the jobs stay held: otherwise their leases would
// run out, and all of them would be done twice. Trying again is safe, also where the answer to a commit was lost: the store takes an
// outcome only with the token of the claim that still holds the job.

import { type Clock, wait } from '../runtime/clock.ts';
import type { Telemetry } from '../telemetry.ts';
import type { Finished, WorkStore } from './jobs.ts';

export interface OutcomeSaverParts {
  readonly store: Pick<WorkStore, 'finish'>;
  readonly clock: Clock;
  readonly telemetry: Pick<Telemetry, 'error'>;
  /** From then on nothing is tried twice: the jobs run again once their leases have expired. */
  readonly stopped: AbortSignal;
}

interface Unsaved {
  readonly finished: Finished;
  readonly sinceNs: number;
  readonly settle: () => void;
}

/** A commit costs the store about the same for one outcome as for twenty, so jobs that end one after the other are saved together. */
const SAVE_EVERY_MS = 10;
const BACK_OFF_MS = 100;
const BACK_OFF_MS_MAX = 5000;
/** Longer than a database takes to fail over. An outcome that can never be saved takes up the place of its job alone until then. */
const GIVEN_UP_AFTER_MS = 600_000;

export class OutcomeSaver {
  readonly #parts: OutcomeSaverParts;
  #unsaved: Unsaved[] = [];
  #isSaving = false;
  /** When the last commit began that has succeeded. */
  #savedNs = -Infinity;
  #failures = 0;

  constructor(parts: OutcomeSaverParts) {
    this.#parts = parts;
  }

  /** Resolves when it is saved, is not held any more, or is given up. Never rejects. */
  save(finished: Finished): Promise<void> {
    return new Promise((settle) => {
      const sinceNs = this.#parts.clock.monotonicNs();
      this.#unsaved.push({ finished, sinceNs, settle });
      if (!this.#isSaving) void this.#saveAll();
    });
  }

  async #saveAll(): Promise<void> {
    const { clock, stopped } = this.#parts;
    this.#isSaving = true;
    // Jobs that end in the same moment are one commit, and so are those that end while it is under way.
    await Promise.resolve();
    while (this.#unsaved.length > 0) {
      const sinceNs = clock.monotonicNs();
      const nextInMs = SAVE_EVERY_MS - (sinceNs - this.#savedNs) / 1e6;
      if (nextInMs > 0 && !stopped.aborted) {
        await wait(clock, Math.ceil(nextInMs), stopped);
        continue;
      }
      const portion = this.#unsaved;
      this.#unsaved = [];
      const left = await this.#saved(portion);
      if (left.length < portion.length) {
        this.#failures = 0;
        this.#savedNs = sinceNs;
      }
      if (left.length === 0) continue;
      const [only] = left;
      // It may be the one that can never be saved, and keeps no other waiting.
      if (only !== undefined && portion.length === 1) {
        void this.#saveAlone(only);
        continue;
      }
      this.#unsaved = [...this.#keptOf(left), ...this.#unsaved];
      const delayMs = Math.min(BACK_OFF_MS * 2 ** this.#failures, BACK_OFF_MS_MAX);
      this.#failures += 1;
      await wait(clock, delayMs, stopped);
    }
    this.#isSaving = false;
  }

  /** Returns those that could not be saved. One that never can keeps no other from being saved: by halves, it is alone in the end. */
  async #saved(portion: readonly Unsaved[]): Promise<readonly Unsaved[]> {
    const failure = await this.#commit(portion);
    if (failure === undefined) return [];
    if (this.#failures === 0) {
      const { error } = failure;
      this.#parts.telemetry.error('the results of jobs could not be saved', error, { count: portion.length });
    }
    if (portion.length === 1) return portion;
    const middle = Math.ceil(portion.length / 2);
    const left: Unsaved[] = [];
    for (const half of [portion.slice(0, middle), portion.slice(middle)])
      if ((await this.#commit(half)) !== undefined) left.push(...half);
    return left;
  }

  async #commit(portion: readonly Unsaved[]): Promise<{ readonly error: unknown } | undefined> {
    try {
      await this.#parts.store.finish(portion.map(({ finished }) => finished));
    } catch (error) {
      return { error };
    }
    for (const { settle } of portion) settle();
    return undefined;
  }

  async #saveAlone(unsaved: Unsaved): Promise<void> {
    const { clock, stopped } = this.#parts;
    for (let failures = 0; this.#keptOf([unsaved]).length > 0; failures++) {
      await wait(clock, Math.min(BACK_OFF_MS * 2 ** failures, BACK_OFF_MS_MAX), stopped);
      if ((await this.#commit([unsaved])) === undefined) return;
    }
  }

  #keptOf(left: readonly Unsaved[]): readonly Unsaved[] {
    const { clock, telemetry, stopped } = this.#parts;
    const sinceNs = clock.monotonicNs() - GIVEN_UP_AFTER_MS * 1e6;
    const kept = stopped.aborted ? [] : left.filter((each) => each.sinceNs > sinceNs);
    for (const each of left) {
      if (kept.includes(each)) continue;
      const { tenant, jobId } = each.finished;
      telemetry.error('the result of a job is given up; the job runs again', undefined, { tenant, jobId });
      each.settle();
    }
    return kept;
  }
}
