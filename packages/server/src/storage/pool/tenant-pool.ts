// Tenant lookups that wait for the next statement, which they share; it is sent when the current one has ended.

import type { TenantId } from '@tallystick/contract';
import type { StoredTenant } from '../../access/tenants.ts';

/** Returns the tenants that exist. */
export type AskTenants = (ids: readonly TenantId[]) => Promise<ReadonlyMap<TenantId, StoredTenant>>;

/** A transaction's rows are compared with its tenants one by one, so their number is limited. */
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
    // Lets concurrent lookups arrive first.
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
