// A clock that moves only when a test says so. Timers fire in order of their due time while it is moved on.

import type { Clock, Timer } from '../runtime/clock.ts';

export interface FakeClock extends Clock {
  /** Moves both clocks forward and fires what falls due, letting promises settle in between. */
  advance(byMs: number): Promise<void>;
  /** Moves both clocks at once, as when a machine was suspended: each timer that fell due fires once, late. */
  leap(byMs: number): Promise<void>;
  /** Sets the wall clock alone, as an operator or a time server would. Timers do not notice. */
  setNow(unixMs: number): void;
  /** How many timers are waiting. */
  pending(): number;
}

interface Waiting {
  dueNs: number;
  run: () => void;
}

export function createFakeClock(startMs = Date.UTC(2026, 0, 1)): FakeClock {
  let nowMs = startMs;
  let elapsedNs = 0;
  const waiting = new Set<Waiting>();

  const nextDue = (untilNs: number): Waiting | undefined => {
    let next: Waiting | undefined;
    for (const timer of waiting) {
      if (timer.dueNs <= untilNs && (next === undefined || timer.dueNs < next.dueNs)) next = timer;
    }
    return next;
  };
  const moveTo = (ns: number) => {
    nowMs += (ns - elapsedNs) / 1e6;
    elapsedNs = ns;
  };

  const clock: FakeClock = {
    now: () => Math.floor(nowMs),
    monotonicNs: () => elapsedNs,
    after(delayMs, run): Timer {
      const timer = { dueNs: elapsedNs + Math.max(0, delayMs) * 1e6, run };
      waiting.add(timer);
      return { cancel: () => void waiting.delete(timer) };
    },
    async advance(byMs) {
      const untilNs = elapsedNs + byMs * 1e6;
      await settle();
      for (let timer = nextDue(untilNs); timer !== undefined; timer = nextDue(untilNs)) {
        waiting.delete(timer);
        moveTo(Math.max(timer.dueNs, elapsedNs));
        timer.run();
        await settle();
      }
      moveTo(untilNs);
    },
    async leap(byMs) {
      moveTo(elapsedNs + byMs * 1e6);
      await clock.advance(0);
    },
    setNow(unixMs) {
      nowMs = unixMs;
    },
    pending: () => waiting.size,
  };
  return clock;
}

/** Lets everything that is already resolved run, including chains of promises. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
