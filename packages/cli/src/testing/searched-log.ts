// A running service to search in: events of one's own choosing in the log of any tenant, the wait for its index, and the
// command against it; for tests.

import type { AuditEvent, EventDraft, List } from '@tallystick/contract';
import { type Ended, type Running, run, start } from './command.ts';
import type { Place } from './place.ts';
import { ADMIN_KEY, startLog } from './running-log.ts';

export interface SearchedService extends AsyncDisposable {
  readonly url: string;
  of(tenant: string): SearchedTenant;
}

export interface SearchedTenant {
  /** Stored, and in the index. */
  add(drafts: readonly Partial<EventDraft>[]): Promise<void>;
  seal(): Promise<void>;
  /** `query` is what stands behind the question mark. */
  list(query: string): Promise<readonly AuditEvent[]>;
  /** `tallystick search` of the tenant, with its key. */
  search(...args: readonly string[]): Promise<Ended>;
  follow(...args: readonly string[]): Running;
}

const DRAFT: EventDraft = {
  timestamp: '2026-01-02T03:04:05.678Z',
  actor: { actorType: 'User', userId: 'u-1' },
  action: 'Delete.Invoice',
  resource: { resourceType: 'Invoice', resourceId: 'INV-42' },
};
const BATCH_MAX = 1000;
/** However slow the machine is. */
const PATIENCE_MS = 120_000;

/** On any free port, or on that one. */
export async function startSearched(place: Place, port = '0'): Promise<SearchedService> {
  const log = await startLog({ ...place, env: { ...place.env, Server__Port: port } });
  return {
    url: log.url,
    of: (tenant) => searchedTenant(log.url, tenant),
    [Symbol.asyncDispose]: () => log[Symbol.asyncDispose](),
  };
}

function searchedTenant(url: string, tenant: string): SearchedTenant {
  const ask = askerOf(url, tenant);
  const list = async <Item>(path: string) => ((await (await ask(path)).json()) as List<Item>).data;
  const command = ['search', '--tenant', tenant];
  const env = { TALLYSTICK_URL: url, TALLYSTICK_API_KEY: ADMIN_KEY };
  return {
    async add(drafts) {
      const events = drafts.map((draft) => ({ ...DRAFT, ...draft }));
      for (let first = 0; first < events.length; first += BATCH_MAX) {
        await (await ask('audit-events/batch', { events: events.slice(first, first + BATCH_MAX) })).text();
      }
      await indexed(ask);
    },
    async seal() {
      const [open] = await list<{ streamId: string }>('event-streams?status=Open');
      await (await ask(`event-streams/${open!.streamId}/seal`, {})).text();
    },
    list: (query) => list<AuditEvent>(`audit-events?${query}`),
    search: (...args) => run([...command, ...args], { env }),
    follow: (...args) => start([...command, '--follow', ...args], { env }),
  };
}

type Ask = (path: string, body?: object) => Promise<Response>;

function askerOf(url: string, tenant: string): Ask {
  const headers = { 'X-API-Key': ADMIN_KEY, 'X-Tenant-Id': tenant, 'Content-Type': 'application/json' };
  return async (path, body) => {
    const more = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
    const response = await fetch(`${url}/api/v1/${path}`, { headers, ...more });
    if (!response.ok) throw new Error(`${path} answers ${response.status}: ${await response.text()}`);
    return response;
  };
}

export function eventsIn(stdout: string): AuditEvent[] {
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as AuditEvent);
}

async function indexed(ask: Ask): Promise<void> {
  const deadline = Date.now() + PATIENCE_MS;
  for (;;) {
    const response = await ask('audit-events?limit=1');
    await response.body?.cancel();
    if (response.headers.get('x-projection-lag-ms') === '0') return;
    if (Date.now() > deadline) throw new Error('the index does not come after the log');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
