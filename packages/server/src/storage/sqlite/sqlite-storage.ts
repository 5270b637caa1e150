// The embedded backend: everything in one data directory. The service has a writer and a reader thread and holds the
// lock; the command line does the same work in its own thread, without the lock, also while the service runs.

import type { Clock } from '../../runtime/clock.ts';
import { createUlids } from '../../runtime/ids.ts';
import type { Random } from '../../runtime/random.ts';
import { StartError } from '../../start-error.ts';
import type { Storage } from '../storage.ts';
import { createAccessReader } from './access.ts';
import { createAccessStores } from './access-stores.ts';
import { decodePool, encodePool } from './append-message.ts';
import { openJournal, openJournalForReading } from './database.ts';
import { JournalOwner } from './journal-owner.ts';
import { takeLock } from './lock.ts';
import { type SqliteLog, startLogThreads } from './log-threads.ts';
import { settleInstallation } from './meta.ts';
import { PoolCommitter } from './pool-commitments.ts';

export interface SqliteOptions {
  readonly directory: string;
  /** As set; undefined: whatever is settled, or will be. */
  readonly logOrigin: string | undefined;
  readonly clock: Clock;
  readonly random: Random;
  /** The service's way: threads for writing and reading. */
  readonly threads: boolean;
  /** Refuse to run beside another one that is exclusive; only then an older schema is brought up. */
  readonly exclusive: boolean;
  /** Told when keys or tenants could not be written. */
  readonly onFailure?: (error: unknown) => void;
  /** Told when a thread has died: the process cannot go on. */
  readonly onFatal: (error: Error) => void;
}

/** Throws StartError. The data directory must be there. */
export async function openSqliteStorage(options: SqliteOptions): Promise<Storage> {
  const { directory, clock, random } = options;
  await using parts = new AsyncDisposableStack();
  if (options.exclusive) parts.use(takeLock(directory));
  const nextId = createUlids(clock, random);
  const logOrigin = settle(options, nextId);
  const log = options.threads
    ? startLogThreads({ directory, logOrigin, onCrash: options.onFatal })
    : logInProcess(new JournalOwner({ directory, logOrigin, clock, nextId }), new PoolCommitter(random));
  parts.use(log);
  const reading = parts.use(openJournalForReading(directory));
  const access = createAccessStores(
    createAccessReader(reading, clock),
    (change) => log.writeAccess(change),
    random,
    options.onFailure,
  );
  await log.opened;
  const opened = parts.move();
  return {
    logOrigin,
    log: log.log,
    tenants: access.tenants,
    apiKeys: access.keys,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

function settle({ directory, logOrigin, exclusive }: SqliteOptions, nextId: () => string): string {
  using db = openJournal(directory, { mayMigrate: exclusive });
  try {
    return settleInstallation(db, { logOrigin, nextId }).logOrigin;
  } catch (error) {
    if (error instanceof StartError) throw error;
    const why = error instanceof Error ? error.message : String(error);
    throw new StartError(`cannot read ${db.location() ?? directory}: ${why}`, { cause: error });
  }
}

function logInProcess(owner: JournalOwner, committer: PoolCommitter): SqliteLog {
  return {
    opened: Promise.resolve(),
    log: {
      // The same way as through the threads, so that what is true of one is true of the other.
      append: async (requests, now) => {
        const pool = decodePool(encodePool(requests, now));
        const results = owner.append(pool, committer.make(pool.requests));
        owner.rest();
        return results;
      },
      sweepUsedKeys: async (steadyNowMs) => owner.sweepUsedKeys(steadyNowMs),
      probe: async () => owner.probe(),
      forTenant: (tenant) => ({
        event: async (eventId, visible) => owner.tables.event(tenant, eventId, visible),
        usedKey: async (operation, key, steadyNowMs) =>
          owner.tables.usedKey(tenant, operation, key, steadyNowMs),
      }),
    },
    writeAccess: async (change) => owner.writeAccess(change),
    [Symbol.asyncDispose]: async () => owner[Symbol.dispose](),
  };
}
