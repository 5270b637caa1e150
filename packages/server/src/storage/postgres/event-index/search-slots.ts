// How many searches run at once: each has a connection for as long as it takes. One tenant never has all of them, so that
// its long searches do not keep all others waiting. Who waits is let in in order, and goes when its time is over.

import type { TenantId } from '@tallystick/contract';
import type { Deadline } from '../../../runtime/deadline.ts';

interface Waiting {
  readonly tenant: TenantId;
  readonly enter: () => void;
}

export class SearchSlots {
  readonly #max: number;
  readonly #tenantMax: number;
  readonly #running = new Map<TenantId, number>();
  #count = 0;
  #waiting: Waiting[] = [];

  constructor(max: number) {
    this.#max = max;
    this.#tenantMax = Math.max(1, max - 1);
  }

  async run<T>(tenant: TenantId, deadline: Deadline, work: () => Promise<T>): Promise<T> {
    if (!this.#mayEnter(tenant)) await this.#wait(tenant, deadline);
    else this.#enter(tenant);
    try {
      return await work();
    } finally {
      this.#leave(tenant);
    }
  }

  #mayEnter(tenant: TenantId): boolean {
    return this.#count < this.#max && (this.#running.get(tenant) ?? 0) < this.#tenantMax;
  }

  #enter(tenant: TenantId): void {
    this.#count++;
    this.#running.set(tenant, (this.#running.get(tenant) ?? 0) + 1);
  }

  #leave(tenant: TenantId): void {
    this.#count--;
    const left = this.#running.get(tenant)! - 1;
    if (left === 0) this.#running.delete(tenant);
    else this.#running.set(tenant, left);
    const next = this.#waiting.find((each) => this.#mayEnter(each.tenant));
    if (next === undefined) return;
    this.#waiting = this.#waiting.filter((each) => each !== next);
    // Entered here, and not by itself: somebody else may come in between.
    this.#enter(next.tenant);
    next.enter();
  }

  async #wait(tenant: TenantId, deadline: Deadline): Promise<void> {
    deadline.throwIfPassed();
    const { signal } = deadline;
    await new Promise<void>((resolve, reject) => {
      const onPassed = () => {
        this.#waiting = this.#waiting.filter((each) => each !== waiting);
        reject(signal.reason as Error);
      };
      const waiting: Waiting = {
        tenant,
        enter: () => {
          signal.removeEventListener('abort', onPassed);
          resolve();
        },
      };
      signal.addEventListener('abort', onPassed);
      this.#waiting.push(waiting);
    });
  }
}
