// A database with logs and their segments, in this process.

import type { TenantId } from '@tallystick/contract';
import { systemClock } from '../../../../runtime/clock.ts';
import { createSystemRandom } from '../../../../runtime/random.ts';
import { createMigrated } from '../../../../testing/migrated-database.ts';
import { openDatabases, PATIENT_LIMITS } from '../../../../testing/postgres-server.ts';
import type { IndexBackend } from '../../../event-index/testing/open-index.ts';
import { ALL_TENANTS, Database, type DatabaseScope } from '../../connection/database.ts';
import { openPostgresStorage } from '../../postgres-storage.ts';
import { LogEvents } from '../log-events.ts';
import { SegmentTables } from '../segment-tables.ts';
import { readsOver } from '../tenant-reads.ts';

const clock = systemClock;
const random = createSystemRandom();

export async function openPostgresIndex(): Promise<IndexBackend> {
  await using opening = new AsyncDisposableStack();
  const server = opening.use(await openDatabases());
  const backend = opening.use(await indexAt(await createMigrated(server)));
  const opened = opening.move();
  return { ...backend, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

/** Of a database that is there, with tables in which nothing is, or without tables. */
export async function indexAt(url: string): Promise<IndexBackend> {
  const storage = await openPostgresStorage({
    url,
    logOrigin: undefined,
    streams: { sealAfter: { ms: 86_400_000 }, sealAfterEvents: 1_000_000 },
    clock,
    random,
  });
  const database = new Database({ url, connectionsMax: 6, ...PATIENT_LIMITS });
  const over = (scopeOf: (tenant: TenantId) => DatabaseScope) => ({
    store: new SegmentTables({ database, clock, random, reads: readsOver(database, scopeOf) }),
    log: new LogEvents(readsOver(database, scopeOf)),
  });
  return {
    storage,
    making: over(() => ALL_TENANTS),
    searching: over((tenant) => ({ role: 'Reader', tenants: [tenant] })),
    async [Symbol.asyncDispose]() {
      await database[Symbol.asyncDispose]();
      await storage[Symbol.asyncDispose]();
    },
  };
}
