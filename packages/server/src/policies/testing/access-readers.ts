// Readers of tenants with Access policies, on a real service: keys by role, policies, events, and what each reader gets.

import type { AuditEvent, List, Policy, SearchAnswer } from '@tallystick/contract';
import { PLATFORM_KEY } from '../../testing/admin-caller.ts';
import { ask, type Asking, type Told } from '../../testing/ask.ts';
import { policedTenant } from '../../testing/policed-tenant.ts';
import type { TestApp } from '../../testing/test-app.ts';

export class AccessReaders {
  readonly #app: () => TestApp;

  /** The app may be started later. */
  constructor(app: () => TestApp) {
    this.#app = app;
  }

  /** By the platform's key, unless another is given. */
  readonly ask = <T>(method: string, path: string, asking: Asking): Promise<Told<T>> =>
    ask<T>(this.#app(), method, `/api/v1${path}`, { key: PLATFORM_KEY, ...asking });

  /** A key with these roles, and perhaps a clearance. */
  readonly keyWith = (tenant: string, more: object): Promise<string> => this.#in(tenant).keyWith(more);

  readonly keyFor = (tenant: string, role: string): Promise<string> =>
    this.keyWith(tenant, { roles: [role] });

  readonly put = (
    tenant: string,
    rules: readonly object[],
    policyType: Policy['policyType'] = 'Access',
  ): Promise<Policy> => this.#in(tenant).put(policyType, rules);

  readonly send = async (tenant: string, event: object): Promise<string> =>
    (await this.#in(tenant).send(event))[0]!;

  /** What a reader gets by each operation. */
  readonly seenBy = async (key: string, tenant: string, eventId: string) => {
    const got = await this.ask<AuditEvent>('GET', `/audit-events/${eventId}`, { key, tenant });
    const listed = await this.ask<List<AuditEvent>>('GET', '/audit-events', { key, tenant });
    const body = { aggregations: ['byAction', 'byActor'] };
    const found = await this.ask<SearchAnswer>('POST', '/audit-events/search', { key, tenant, body });
    return { got, listed: listed.body.data, found: found.body };
  };

  #in(tenant: string) {
    return policedTenant(this.#app(), tenant);
  }
}
