// Time for what cannot be undone, such as the removal of content: a wall clock that jumps ahead and back must not have it done
// early. A jump ahead is believed once it has lasted for a day; a jump back at once. What jumped before the process began is
// not noticed.

import type { Clock } from './clock.ts';

const BELIEVED_AFTER_NS = 86_400e9;

/** Since a moment, the wall clock was ahead of the monotonic one by at least this. */
interface Lead {
  readonly sinceNs: number;
  readonly leadMs: number;
}

/** Jumps are noticed when it is asked; ask it often. */
export function createCautiousTime(clock: Pick<Clock, 'now' | 'monotonicNs'>): () => number {
  // In order of both.
  const leads: Lead[] = [];
  return () => {
    const nowNs = clock.monotonicNs();
    const monotonicMs = Math.floor(nowNs / 1e6);
    const leadMs = clock.now() - monotonicMs;
    let sinceNs = nowNs;
    while (leads.length > 0 && leads.at(-1)!.leadMs >= leadMs) ({ sinceNs } = leads.pop()!);
    leads.push({ sinceNs, leadMs });
    while (leads.length > 1 && nowNs - leads[1]!.sinceNs >= BELIEVED_AFTER_NS) leads.shift();
    return monotonicMs + leads[0]!.leadMs;
  };
}
