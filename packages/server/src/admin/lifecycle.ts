// The state of the process: starting, serving, or draining before it stops. It never goes back.

export const PHASES = ['Starting', 'Serving', 'Draining'] as const;
export type Phase = (typeof PHASES)[number];

export interface Lifecycle {
  readonly phase: Phase;
  /** Aborted once the process drains: what lasts comes to its end. */
  readonly draining: AbortSignal;
  /** Moves on to the phase; an earlier one is ignored. */
  moveTo(phase: Phase): void;
}

export function createLifecycle(): Lifecycle {
  let current: Phase = 'Starting';
  const drain = new AbortController();
  return {
    get phase() {
      return current;
    },
    draining: drain.signal,
    moveTo(phase) {
      if (PHASES.indexOf(phase) > PHASES.indexOf(current)) current = phase;
      if (current === 'Draining') drain.abort();
    },
  };
}
