// Callers that wait until a checkpoint covers the entry that they want to prove.

import type { TenantId } from '@tallystick/contract';

interface Waiter {
  readonly size: number;
  readonly promise: Promise<void>;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

export class CheckpointWaiters {
  readonly #waiters = new Map<TenantId, Set<Waiter>>();

  /** Resolves when a checkpoint of at least this size is published; rejects with the reason of the signal. */
  add(tenant: TenantId, size: number, signal: AbortSignal): Waiter {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const own = this.#waiters.get(tenant) ?? new Set();
    this.#waiters.set(tenant, own);
    const tooLate = () => waiter.reject(signal.reason);
    const leave = () => {
      own.delete(waiter);
      if (own.size === 0) this.#waiters.delete(tenant);
      signal.removeEventListener('abort', tooLate);
    };
    const waiter: Waiter = {
      size,
      promise,
      resolve() {
        leave();
        resolve();
      },
      reject(error) {
        leave();
        reject(error);
      },
    };
    own.add(waiter);
    signal.addEventListener('abort', tooLate);
    if (signal.aborted) tooLate();
    return waiter;
  }

  tenants(): TenantId[] {
    return [...this.#waiters.keys()];
  }

  published(tenant: TenantId, size: number): void {
    for (const waiter of this.#waiters.get(tenant) ?? []) if (waiter.size <= size) waiter.resolve();
  }

  /** The checkpoint will not come: all waiting callers get the reason. */
  end(error: Error): void {
    for (const waiters of this.#waiters.values()) for (const waiter of waiters) waiter.reject(error);
  }
}
