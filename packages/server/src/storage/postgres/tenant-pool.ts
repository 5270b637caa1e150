// Tenants that wait for the next commit, which they share; it is sent once the one under way is through.

import type { TenantId } from '@tallystick/contract';
import type { TenantRecord } from '../../access/tenants.ts';

type EnsureTenants = (ids: readonly TenantId[], nowMs: number) => Promise<Map<TenantId, TenantRecord>>;

/** What a transaction may see is compared with its tenants one by one, so there must not be too many of them. */
const TENANTS_MAX = 500;

export class TenantPool {
  readonly #ensureAll: EnsureTenants;
  readonly #waiting = new Map<TenantId, PromiseWithResolvers<TenantRecord>>();
  #isUnderWay = false;
  #nowMs = 0;

  constructor(ensureAll: EnsureTenants) {
    this.#ensureAll = ensureAll;
  }

  ensure(tenantId: TenantId, nowMs: number): Promise<TenantRecord> {
    const waiter = this.#waiting.get(tenantId) ?? Promise.withResolvers<TenantRecord>();
    this.#waiting.set(tenantId, waiter);
    this.#nowMs = nowMs;
    if (!this.#isUnderWay) void this.#work();
    return waiter.promise;
  }

  async #work(): Promise<void> {
    this.#isUnderWay = true;
    // Those who ask together come one behind the other.
    await Promise.resolve();
    while (this.#waiting.size > 0) {
      const taken = [...this.#waiting].slice(0, TENANTS_MAX);
      for (const [id] of taken) this.#waiting.delete(id);
      try {
        const made = await this.#ensureAll(
          taken.map(([id]) => id),
          this.#nowMs,
        );
        for (const [id, { resolve }] of taken) resolve(made.get(id)!);
      } catch (error) {
        for (const [, { reject }] of taken) reject(error);
      }
    }
    this.#isUnderWay = false;
  }
}
