// Readers of tenants with Access policies, on a real service: keys by role, policies, events, and what each reader gets.

import assert from 'node:assert/strict';
import type { AuditEvent, List, SearchAnswer } from '@tallystick/contract';
import { PLATFORM_KEY } from '../../testing/admin-caller.ts';
import { EVENT } from '../../testing/bound-operations.ts';
import type { TestApp } from '../../testing/test-app.ts';

export interface Told<T> {
  /** `200`, or `403 FORBIDDEN`. */
  readonly code: string;
  readonly body: T;
}

interface Asking {
  readonly key?: string;
  readonly tenant: string;
  readonly body?: object;
}

export class AccessReaders {
  readonly #app: () => TestApp;

  /** The app may be started later. */
  constructor(app: () => TestApp) {
    this.#app = app;
  }

  /** By the platform's key, unless another is given. */
  readonly ask = async <T>(
    method: string,
    path: string,
    { key = PLATFORM_KEY, tenant, body }: Asking,
  ): Promise<Told<T>> => {
    const response = await fetch(`${this.#app().url}/api/v1${path}`, {
      method,
      headers: { 'X-API-Key': key, 'X-Tenant-Id': tenant, 'Content-Type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    const answer = (await response.json()) as T & { error?: { code: string } };
    return { code: `${response.status} ${answer.error?.code ?? ''}`.trim(), body: answer };
  };

  /** A key with these roles, and perhaps a clearance. */
  readonly keyWith = async (tenant: string, more: object): Promise<string> => {
    const body = { name: `key ${Math.random()}`, tenantId: tenant, ...more };
    return (await this.ask<{ key: string }>('POST', '/admin/api-keys', { tenant, body })).body.key;
  };

  readonly keyFor = (tenant: string, role: string): Promise<string> =>
    this.keyWith(tenant, { roles: [role] });

  readonly put = async (
    tenant: string,
    rules: readonly object[],
    policyType: 'Access' | 'Classification' | 'Retention' = 'Access',
  ): Promise<void> => {
    const body = { name: policyType, policyType, rules };
    assert.equal((await this.ask('POST', '/policies', { tenant, body })).code, '201');
  };

  readonly send = async (tenant: string, event: object): Promise<string> => {
    const body = { ...EVENT, ...event };
    return (await this.ask<{ eventId: string }>('POST', '/audit-events', { tenant, body })).body.eventId;
  };

  /** What a reader gets by each operation. */
  readonly seenBy = async (key: string, tenant: string, eventId: string) => {
    const got = await this.ask<AuditEvent>('GET', `/audit-events/${eventId}`, { key, tenant });
    const listed = await this.ask<List<AuditEvent>>('GET', '/audit-events', { key, tenant });
    const body = { aggregations: ['byAction', 'byActor'] };
    const found = await this.ask<SearchAnswer>('POST', '/audit-events/search', { key, tenant, body });
    return { got, listed: listed.body.data, found: found.body };
  };
}
