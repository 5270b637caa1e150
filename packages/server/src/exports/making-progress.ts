// How far the file of an export has come, how fast it goes, and when it may be done. The pace is that of the present run: one that goes on
// after a crash knows nothing of the hours before.

import type { Clock } from '../runtime/clock.ts';

export interface MakingProgress {
  readonly processedEvents: number;
  readonly totalEvents: number | undefined;
  readonly percent: number;
  readonly share: number;
  /** Undefined: too little is done to tell. */
  readonly eventsPerSecond?: number;
  readonly estimatedAtMs?: number;
}

/** How far the work has come, as far as anybody can tell. */
export interface Done {
  /** Rows in the file. */
  readonly processedEvents: number;
  readonly totalEvents: number | undefined;
  /** Events that were written so far, in whatever form. */
  readonly writtenEvents: number;
  /** Of the work, from 0 to 1. */
  readonly share: number;
  /** The share is a lower bound: it says nothing about the rest. */
  readonly isBound: boolean;
}

/** Below, chance decides more than the pace. */
const TELLING_NS = 1e9;

export class Pace {
  readonly #clock: Pick<Clock, 'now' | 'monotonicNs'>;
  #begin: (Pick<Done, 'writtenEvents' | 'share'> & { readonly ns: number }) | undefined;

  constructor(clock: Pick<Clock, 'now' | 'monotonicNs'>) {
    this.#clock = clock;
  }

  progress({ processedEvents, totalEvents, writtenEvents, share, isBound }: Done): MakingProgress {
    const ns = this.#clock.monotonicNs();
    this.#begin ??= { ns, writtenEvents, share };
    const seconds = (ns - this.#begin.ns) / 1e9;
    // Complete is what is in its place.
    const known = { processedEvents, totalEvents, share, percent: Math.min(99, Math.floor(100 * share)) };
    if (ns - this.#begin.ns < TELLING_NS) return known;
    const eventsPerSecond = Math.round((writtenEvents - this.#begin.writtenEvents) / seconds);
    const gained = share - this.#begin.share;
    if (isBound || gained <= 0) return { ...known, eventsPerSecond };
    const leftMs = ((1 - share) / gained) * seconds * 1000;
    return { ...known, eventsPerSecond, estimatedAtMs: Math.round(this.#clock.now() + leftMs) };
  }
}
