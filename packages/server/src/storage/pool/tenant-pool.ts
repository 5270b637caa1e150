// Tenants that wait for the next statement, which they share; it is sent once the one under way is through.

import type { TenantId } from '@tallystick/contract';
import type { StoredTenant } from '../../access/tenants.ts';

/** Gives those that there are. */
export type AskTenants = (ids: readonly TenantId[]) => Promise<ReadonlyMap<TenantId, StoredTenant>>;

/** What a transaction may see is compared with its tenants one by one, so there must not be too many of them. */
const TENANTS_MAX = 500;

export class TenantPool {
  readonly #askAll: AskTenants;
  readonly #waiting = new Map<TenantId, PromiseWithResolvers<StoredTenant | undefined>>();
  #isUnderWay = false;

  constructor(askAll: AskTenants) {
    this.#askAll = askAll;
  }

  ask(tenantId: TenantId): Promise<StoredTenant | undefined> {
    const waiter = this.#waiting.get(tenantId) ?? Promise.withResolvers<StoredTenant | undefined>();
    this.#waiting.set(tenantId, waiter);
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
        const found = await this.#askAll(taken.map(([id]) => id));
        for (const [id, { resolve }] of taken) resolve(found.get(id));
      } catch (error) {
        for (const [, { reject }] of taken) reject(error);
      }
    }
    this.#isUnderWay = false;
  }
}
