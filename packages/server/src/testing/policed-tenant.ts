// A tenant of a real service whose policies and events a test makes; for tests of what policies do to readers.

import assert from 'node:assert/strict';
import type { AuditEvent, BatchResult, IngestReceipt, List, Policy } from '@tallystick/contract';
import { PLATFORM_KEY } from './admin-caller.ts';
import { ask as askOf } from './ask.ts';
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
  const ask = async <T>(method: string, path: string, body?: object, key: string = PLATFORM_KEY) => {
    const {
      status,
      text,
      body: answer,
    } = await askOf<T>(app, method, `/api/v1${path}`, { key, tenant, body });
    assert.ok(status < 300, `${method} ${path} is answered ${status} ${text}`);
    return answer;
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
