// How long somebody waits for a log that somebody else has locked: in pauses that grow, up to an end.

import { type Clock, wait } from '../../runtime/clock.ts';
import type { Random } from '../../runtime/random.ts';

const WAITED_MS_MAX = 5000;
const PAUSE_MS = 2;
const PAUSE_MS_MAX = 25;

export interface PatienceParts {
  readonly clock: Clock;
  readonly random: Random;
}

/** What it gives pauses, and is false when that was enough. */
export function createPatience({ clock, random }: PatienceParts): () => Promise<boolean> {
  const endNs = clock.monotonicNs() + WAITED_MS_MAX * 1e6;
  let pauseMs = PAUSE_MS;
  return async () => {
    if (clock.monotonicNs() > endNs) return false;
    await wait(clock, pauseMs * (0.5 + random.fraction()));
    pauseMs = Math.min(PAUSE_MS_MAX, pauseMs * 2);
    return true;
  };
}
