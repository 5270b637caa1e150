// The embedded backend: everything in one data directory. The service has a writer and a reader thread and holds the
// lock; the command line does the same work in its own thread, without the lock, also while the service runs.

import type { Clock } from '../../runtime/clock.ts';
import { createUlids } from '../../runtime/ids.ts';
import type { Random } from '../../runtime/random.ts';
import { StartError } from '../../start-error.ts';
import type { StreamLimits } from '../../streams/log.ts';
import { requireNotMoved } from '../moved-store.ts';
import type { Storage } from '../storage.ts';
import { createAccessReader } from './access.ts';
import { createAccessStores } from './access-stores.ts';
import { decodePool, encodePool } from '../pool/append-message.ts';
import { openJournal, openJournalForReading } from './database.ts';
import { createEventIndex } from './event-index/event-index.ts';
import { JournalOwner } from './journal-owner.ts';
import { takeLock } from './lock.ts';
import { type SqliteLog, startLogThreads } from './log-threads.ts';
import { settleInstallation } from './meta.ts';
import { PoolCommitter } from '../pool/pool-commitments.ts';
import { treeInProcess } from './tree-in-process.ts';
import type { TreeData } from './tree-thread.ts';

export interface SqliteOptions {
  readonly directory: string;
  /** As set; undefined: whatever is settled, or will be. */
  readonly logOrigin: string | undefined;
  readonly streams: StreamLimits;
  readonly clock: Clock;
  readonly random: Random;
  /** The service's way: threads for writing and reading. */
  readonly threads: boolean;
  /** Refuse to run beside another one that is exclusive. */
  readonly exclusive: boolean;
  /** Bring up an older schema, or refuse it; undefined: if this is exclusive. Without being so it must not. */
  readonly mayMigrate?: boolean;
  /** Told when keys or tenants could not be written. */
  readonly onFailure?: (error: unknown) => void;
  /** Told of what concerns the index alone: the log goes on. */
  readonly onIndexTrouble?: (what: string, error: Error | undefined) => void;
  /** Told when a thread has died: the process cannot go on. */
  readonly onFatal: (error: Error) => void;
}

/** Throws StartError, also for a log that goes on elsewhere. The data directory must be there. */
export async function openSqliteStorage(options: SqliteOptions): Promise<Storage> {
  const { directory, streams, clock, random } = options;
  await using parts = new AsyncDisposableStack();
  if (options.exclusive) parts.use(takeLock(directory));
  requireNotMoved(directory);
  const nextId = createUlids(clock, random);
  const logOrigin = settle(options, nextId);
  const committer = new PoolCommitter(random);
  const log = options.threads
    ? startLogThreads({ directory, logOrigin, streams, onCrash: options.onFatal })
    : logInProcess(
        new JournalOwner({ directory, logOrigin, streams, clock, nextId, random, committer }),
        committer,
        { directory, logOrigin },
      );
  parts.use(log);
  const reading = parts.use(openJournalForReading(directory));
  const access = createAccessStores(
    createAccessReader(reading, clock),
    (change) => log.writeAccess(change),
    random,
    options.onFailure,
  );
  const index = parts.use(
    createEventIndex({ directory, logOrigin, clock, onTrouble: options.onIndexTrouble ?? (() => {}) }),
  );
  await log.opened;
  const opened = parts.move();
  return {
    logOrigin,
    log: log.log,
    tree: log.tree,
    tenants: access.tenants,
    apiKeys: access.keys,
    keyUses: access.uses,
    index,
    nodes: undefined,
    settleSigner: async (fingerprint) => fingerprint,
    forgetRefusals: async () => {},
    answers: async () => {},
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

function settle(options: SqliteOptions, nextId: () => string): string {
  const { directory, logOrigin, exclusive, mayMigrate = exclusive } = options;
  using db = openJournal(directory, { mayMigrate });
  try {
    return settleInstallation(db, { logOrigin, nextId }).logOrigin;
  } catch (error) {
    if (error instanceof StartError) throw error;
    const why = error instanceof Error ? error.message : String(error);
    throw new StartError(`cannot read ${db.location() ?? directory}: ${why}`, { cause: error });
  }
}

function logInProcess(owner: JournalOwner, committer: PoolCommitter, treeData: TreeData): SqliteLog {
  const reading = openJournalForReading(treeData.directory);
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
      seal: async (request, now) => {
        const result = owner.seal(request, now);
        owner.rest();
        return result;
      },
      beginEpoch: async (request, now) => {
        const result = owner.beginEpoch(request, now);
        owner.rest();
        return result;
      },
      sealAged: async (now, except = []) => owner.sealAged(now, except),
      sweepUsedKeys: async (steadyNowMs) => owner.sweepUsedKeys(steadyNowMs),
      probe: async () => owner.probe(),
      forTenant: (tenant) => ({
        event: async (eventId, visible) => owner.tables.event(tenant, eventId, visible),
        events: async (fromIndex, endIndex, limit, way) =>
          owner.tables.events(tenant, fromIndex, endIndex, limit, way),
        streams: async (beyond, limit) => owner.tables.streams(tenant, beyond, limit),
        stream: async (streamId) => owner.tables.stream(tenant, streamId),
        streamCount: async () => owner.tables.streamCount(tenant),
        usedKey: async (operation, key, steadyNowMs) =>
          owner.tables.usedKey(tenant, operation, key, steadyNowMs),
      }),
    },
    tree: treeInProcess(reading, owner, treeData.logOrigin),
    writeAccess: async (change) => owner.writeAccess(change),
    async [Symbol.asyncDispose]() {
      reading.close();
      owner[Symbol.dispose]();
    },
  };
}
