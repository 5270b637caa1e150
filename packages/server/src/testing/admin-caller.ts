// Callers with real keys, over real HTTP: the platform's own, and those that it makes for tenants. For tests about who is
// told what.

import type { Role } from '@tallystick/contract';
import { EVENT } from './bound-operations.ts';
import type { TestApp } from './test-app.ts';

export const PLATFORM_KEY = 'the-platform-key-of-these-tests';

/** With this setting the platform's key is the one above. */
export const WITH_PLATFORM_KEY = { TALLYSTICK_ADMIN_KEY: PLATFORM_KEY };

export interface Told {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** `200`, or `403 FORBIDDEN`. */
  readonly code: string;
}

export interface AdminCaller {
  readonly key: string;
  get(path: string, headers?: Record<string, string>): Promise<Told>;
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Told>;
  /** Sends so many events, one by one. */
  send(count?: number): Promise<void>;
}

export function adminCaller(app: TestApp, tenant: string, key = PLATFORM_KEY): AdminCaller {
  const own = { 'X-API-Key': key, 'X-Tenant-Id': tenant };
  const ask = async (path: string, init: RequestInit): Promise<Told> => {
    const response = await fetch(`${app.url}${path}`, init);
    const text = await response.text();
    const error = /^\{"error":\{"code":"(\w+)"/.exec(text)?.[1] ?? '';
    const { status, headers } = response;
    return { status, headers, text, code: `${status} ${error}`.trim() };
  };
  const post: AdminCaller['post'] = (path, body, headers = {}) =>
    ask(path, {
      method: 'POST',
      headers: { ...own, 'Content-Type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
  return {
    key,
    get: (path, headers = {}) => ask(path, { headers: { ...own, ...headers } }),
    post,
    async send(count = 1) {
      for (let i = 0; i < count; i++) {
        const { code } = await post('/api/v1/audit-events', EVENT);
        if (code !== '201') throw new Error(`an event was answered ${code}`);
      }
    },
  };
}

/** A caller of the tenant with a key of its own, made by the platform's key in that tenant or in another one. */
export async function callerOf(
  app: TestApp,
  tenant: string,
  roles: readonly Role[] = ['Admin'],
  named = tenant,
): Promise<AdminCaller> {
  const { code, text } = await adminCaller(app, named).post('/api/v1/admin/api-keys', {
    name: 'test',
    roles,
    tenantId: tenant,
  });
  if (code !== '201') throw new Error(`a key was answered ${code}`);
  return adminCaller(app, tenant, (JSON.parse(text) as { key: string }).key);
}
