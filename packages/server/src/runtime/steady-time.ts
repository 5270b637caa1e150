// Time that runs on evenly: the wall clock as it stood at the start, and what has elapsed since. A time span
// that is measured by it, such as the life of a key, does not change when somebody sets the wall clock.

import type { Clock } from './clock.ts';

export function createSteadyTime(clock: Clock): () => number {
  const startedAtMs = clock.now();
  const startedNs = clock.monotonicNs();
  return () => startedAtMs + Math.floor((clock.monotonicNs() - startedNs) / 1e6);
}
