// A store with real files in which nothing happens by itself, and a log with so many events.

import assert from 'node:assert/strict';
import { systemClock } from '../runtime/clock.ts';
import { createSystemRandom } from '../runtime/random.ts';
import { append, draftOf, NOW_MS, request } from '../storage/conformance/claims.ts';
import type { OpenSealing } from '../storage/sealing/sealing.ts';
import { openSqliteStorage } from '../storage/sqlite/sqlite-storage.ts';
import type { Storage } from '../storage/storage.ts';

export function openPlainStore(
  directory: string,
  openSealing?: OpenSealing,
  threads = false,
): Promise<Storage> {
  return openSqliteStorage({
    directory,
    logOrigin: 'audit.example.com',
    streams: { sealAfter: { ms: 1e12 }, sealAfterEvents: 1000 },
    clock: systemClock,
    random: createSystemRandom(),
    threads,
    exclusive: false,
    openSealing,
    onFatal: assert.fail,
  });
}

export async function fillLog(storage: Storage, tenant: string, count: number): Promise<void> {
  await storage.tenants.ensure(tenant, NOW_MS);
  const drafts = Array.from({ length: count }, () => draftOf());
  await append(storage, request(tenant, drafts));
}
