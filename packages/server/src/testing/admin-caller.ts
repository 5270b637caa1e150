// Callers with real keys, over real HTTP: the platform's own, and those that it makes for tenants. For tests about who is
// told what.

import type { Role } from '@tallystick/contract';
import { ask as askOf, type Asking, type Told } from './ask.ts';
import { EVENT } from './bound-operations.ts';
import type { TestApp } from './test-app.ts';

export const PLATFORM_KEY = 'the-platform-key-of-these-tests';

/** With this setting the platform's key is the one above. */
export const WITH_PLATFORM_KEY = { TALLYSTICK_ADMIN_KEY: PLATFORM_KEY };

export interface AdminCaller {
  readonly key: string;
  get(path: string, headers?: Record<string, string>): Promise<Told>;
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Told>;
  /** Sends so many events, one by one. */
  send(count?: number): Promise<void>;
}

export function adminCaller(app: TestApp, tenant: string, key = PLATFORM_KEY): AdminCaller {
  const ask = (method: string, path: string, asking: Asking) =>
    askOf(app, method, path, { key, tenant, ...asking });
  const post: AdminCaller['post'] = (path, body, headers = {}) => ask('POST', path, { headers, body });
  return {
    key,
    get: (path, headers = {}) => ask('GET', path, { headers }),
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
