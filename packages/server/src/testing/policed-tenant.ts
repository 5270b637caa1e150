// A tenant of a real service whose policies and events a test makes; for tests of what policies do to readers.

import assert from 'node:assert/strict';
import type { AuditEvent, BatchResult, IngestReceipt, List, Policy } from '@tallystick/contract';
import { PLATFORM_KEY } from './admin-caller.ts';
import { EVENT } from './bound-operations.ts';
import type { TestApp } from './test-app.ts';
import { until } from './until.ts';

export interface PolicedTenant {
  /** By the platform's key, unless another is given. Fails unless it succeeds. */
  ask<T>(method: string, path: string, body?: object, key?: string): Promise<T>;
  /** A key with roles, and perhaps a clearance. */
  keyWith(more: object): Promise<string>;
  put(policyType: Policy['policyType'], rules: readonly object[], name?: string): Promise<Policy>;
  /** In one batch; the ids in the order of the events. */
  send(...events: readonly object[]): Promise<string[]>;
  /** The newest notice about this action. */
  noticeOf(action: string): Promise<string>;
}

export function policedTenant(app: TestApp, tenant: string): PolicedTenant {
  const ask = async <T>(
    method: string,
    path: string,
    body?: object,
    key: string = PLATFORM_KEY,
  ): Promise<T> => {
    const response = await fetch(`${app.url}/api/v1${path}`, {
      method,
      headers: { 'X-API-Key': key, 'X-Tenant-Id': tenant, 'Content-Type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    assert.ok(response.ok, `${method} ${path} is answered ${response.status} ${text}`);
    return (text === '' ? undefined : JSON.parse(text)) as T;
  };
  return {
    ask,
    async keyWith(more) {
      const body = { name: `key ${Math.random()}`, tenantId: tenant, ...more };
      return (await ask<{ key: string }>('POST', '/admin/api-keys', body)).key;
    },
    put: (policyType, rules, name = policyType) => ask('POST', '/policies', { name, policyType, rules }),
    async send(...events) {
      const all = events.map((event) => ({ ...EVENT, ...event }));
      const { results } = await ask<BatchResult>('POST', '/audit-events/batch', { events: all });
      return results.map((result) => (result as Partial<IngestReceipt>).eventId!);
    },
    async noticeOf(action) {
      const path = `/audit-events?kind=Notice&action=${action}`;
      let found: string | undefined;
      await until(async () => {
        const { data } = await ask<List<AuditEvent>>('GET', path);
        found = data[0]?.eventId;
        return found !== undefined;
      });
      return found!;
    },
  };
}
