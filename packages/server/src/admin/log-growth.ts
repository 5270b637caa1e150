// Tells those who wait for it that a tenant's log has grown on this node. What other nodes append is not told: a watch
// ends by itself after the time that its owner gives it, to look for that.

import type { TenantId } from '@tallystick/contract';
import type { Clock } from '../runtime/clock.ts';

export interface LogGrowth {
  grew(tenant: TenantId): void;
  /** Notices growth from now on, also while nobody waits. */
  watch(tenant: TenantId): GrowthWatch;
}

export interface GrowthWatch extends Disposable {
  /** Resolves when the log has grown since the last call, after `ms`, or when `signal` aborts. */
  wait(clock: Clock, ms: number, signal: AbortSignal): Promise<void>;
}

export function createLogGrowth(): LogGrowth {
  const watched = new Map<TenantId, Set<Watch>>();
  return {
    grew(tenant) {
      for (const watch of watched.get(tenant) ?? []) watch.grew();
    },
    watch(tenant) {
      const all = watched.get(tenant) ?? new Set();
      watched.set(tenant, all);
      const watch = new Watch(() => {
        all.delete(watch);
        if (all.size === 0) watched.delete(tenant);
      });
      all.add(watch);
      return watch;
    },
  };
}

class Watch implements GrowthWatch {
  readonly #end: () => void;
  #hasGrown = false;
  #wake = () => {};

  constructor(end: () => void) {
    this.#end = end;
  }

  grew(): void {
    this.#hasGrown = true;
    this.#wake();
  }

  async wait(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
    if (!this.#hasGrown && !signal.aborted) {
      await new Promise<void>((resolve) => {
        const done = () => {
          timer.cancel();
          signal.removeEventListener('abort', done);
          resolve();
        };
        const timer = clock.after(ms, done);
        signal.addEventListener('abort', done);
        this.#wake = done;
      });
      this.#wake = () => {};
    }
    this.#hasGrown = false;
  }

  [Symbol.dispose](): void {
    this.#end();
  }
}
