// Time for what cannot be undone, such as the removal of content: a wall clock that jumps ahead and back must not have it done
// early. A jump ahead is believed once it has lasted for a day; a jump back at once. What jumped before the process began is
// not noticed.

import type { Clock } from './clock.ts';

const BELIEVED_AFTER_NS = 86_400e9;

interface Sample {
  readonly atNs: number;
  /** By how much the wall clock is ahead of the monotonic one. */
  readonly aheadMs: number;
}

/** Jumps are noticed when it is asked; ask it often. */
export function createCautiousTime(clock: Pick<Clock, 'now' | 'monotonicNs'>): () => number {
  // Each is ahead of those before it: of earlier ones only the least count.
  let samples: Sample[] = [];
  return () => {
    const atNs = clock.monotonicNs();
    const monotonicMs = Math.floor(atNs / 1e6);
    const aheadMs = clock.now() - monotonicMs;
    samples = [...samples.filter((each) => each.aheadMs < aheadMs), { atNs, aheadMs }];
    // One is outdated once the next one is old enough: it has lasted since then.
    while (samples.length > 1 && atNs - samples[1]!.atNs >= BELIEVED_AFTER_NS) samples.shift();
    return monotonicMs + samples[0]!.aheadMs;
  };
}
