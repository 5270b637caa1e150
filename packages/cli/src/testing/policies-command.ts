// `tallystick policies` against a running service, with files of the test's own; for tests.

import type { List, Policy } from '@tallystick/contract';
import { type Ended, run } from './command.ts';
import { ADMIN_KEY } from './running-log.ts';

export interface PolicedTenant {
  /** The environment of the command: address and key of the service. */
  readonly env: Readonly<Record<string, string>>;
  /** In a folder of its own, in which the files are. */
  policies(args: readonly string[], files?: Readonly<Record<string, string>>): Promise<Ended>;
  /** All that are not deleted, in the order of the service. */
  list(): Promise<readonly Policy[]>;
  send(method: string, path: string, body?: object): Promise<Response>;
}

export function policedTenant(url: string, tenant: string): PolicedTenant {
  const env = { TALLYSTICK_URL: url, TALLYSTICK_API_KEY: ADMIN_KEY };
  const headers = { 'X-API-Key': ADMIN_KEY, 'X-Tenant-Id': tenant, 'Content-Type': 'application/json' };
  const send = async (method: string, path: string, body?: object) => {
    const more = body === undefined ? {} : { body: JSON.stringify(body) };
    const response = await fetch(`${url}/api/v1/${path}`, { method, headers, ...more });
    if (!response.ok) throw new Error(`${path} answers ${response.status}: ${await response.text()}`);
    return response;
  };
  return {
    env,
    policies: ([command, ...args], files = {}) =>
      run(['policies', command!, '--tenant', tenant, ...args], { env, files }),
    list: async () => ((await (await send('GET', 'policies?limit=1000')).json()) as List<Policy>).data,
    send,
  };
}
