// Work that takes long lets others have a turn in between: this is the process that answers requests, too.

import { setImmediate } from 'node:timers/promises';
import type { Clock } from './clock.ts';

/** So long may work go on between two pauses. */
const TURN_NS = 5e6;

export async function pauseForOthers(): Promise<void> {
  await setImmediate();
}

/** For a loop whose steps may take long: gives a pause whenever its turn is over. */
export function pausesBy(clock: Pick<Clock, 'monotonicNs'>): () => Promise<void> | undefined {
  let sinceNs = clock.monotonicNs();
  return () => {
    if (clock.monotonicNs() - sinceNs < TURN_NS) return undefined;
    return pauseForOthers().then(() => void (sinceNs = clock.monotonicNs()));
  };
}
