// The embedded backend: everything in one data directory. The service has writer and reader threads and holds the lock;
// the command line does the same work in its own thread, without the lock, also while the service runs.

import { type Clock, wait } from '../../runtime/clock.ts';
import { createUlids } from '../../runtime/ids.ts';
import type { Random } from '../../runtime/random.ts';
import { StartError } from '../../start-error.ts';
import type { StreamLimits } from '../../streams/log.ts';
import { requireNotMoved } from '../files/moved-store.ts';
import { guarded, recordsMessage } from '../guarded.ts';
import { removalOn, type RemovalTables } from '../removal.ts';
import { olderKeyIn } from '../rows/older-key-row.ts';
import {
  NOTHING_SEALED,
  type OpenSealing,
  requireSettled,
  type SealingData,
  sealingWith,
} from '../sealing/sealing.ts';
import type { Storage } from '../storage.ts';
import { callsHere } from '../../runtime/calls.ts';
import { appendsBy } from '../pool/send-pools.ts';
import type { RingData } from '../sealing/keyring.ts';
import { openJournal, openJournalForReading } from './connection/database.ts';
import { createEventIndex } from './event-index/event-index.ts';
import { logOf, treeOn } from './log/journal-log.ts';
import { JournalOwner, type JournalOwnerOptions } from './append/journal-owner.ts';
import { createKeyUseStore } from './records/key-uses.ts';
import { takeLock } from './connection/lock.ts';
import { LogTables } from './log/log-tables.ts';
import type { SqliteLogPlace } from './log/read-elsewhere.ts';
import { type OpenJournal, startLogThreads } from './threads/log-threads.ts';
import { settleInstallation, settleKeyring } from './connection/meta.ts';
import { PoolCommitter } from '../pool/pool-commitments.ts';
import { RangeChecks, rangesBy } from './log/ranges.ts';
import { createTenantKeyStore, namedRingKeysIn } from './records/tenant-keys.ts';
import { createRecordReader } from './records/records.ts';
import { createTenantStore } from './records/tenants.ts';
import { TreeGrowth } from './tree/tree-growth.ts';
import { TreeReads } from './tree/tree-reads.ts';
import { openWork } from './work/work.ts';

const ERASING_ATTEMPTS_MAX = 100;
const ERASING_PAUSE_MS = 50;

export interface SqliteOptions {
  readonly directory: string;
  /** As configured; undefined: keep the current name, or derive one. */
  readonly logOrigin: string | undefined;
  readonly streams: StreamLimits;
  readonly clock: Clock;
  readonly random: Random;
  /** Uses threads for writing and reading, as the service does. */
  readonly threads: boolean;
  /** Refuses to run beside another exclusive process. */
  readonly exclusive: boolean;
  /** Migrates an older schema, or refuses it; undefined: migrates if exclusive. Requires `exclusive`. */
  readonly mayMigrate?: boolean;
  /** Told which keys of a keyring have sealed keys of tenants, it gives the keyring; undefined: nothing is sealed. */
  readonly openSealing?: OpenSealing | undefined;
  /** Called when keys or tenants could not be written. */
  readonly onFailure?: (error: unknown) => void;
  /** Called for problems of the index only: the log is not affected. */
  readonly onIndexTrouble?: (what: string, error: Error | undefined) => void;
  /** Called when a thread has died: the process cannot continue. */
  readonly onFatal: (error: Error) => void;
}

/** Throws StartError, also for a log that continues elsewhere. The data directory must exist. */
export async function openSqliteStorage(options: SqliteOptions): Promise<Storage> {
  const { directory, streams, clock, random } = options;
  await using parts = new AsyncDisposableStack();
  if (options.exclusive) parts.use(takeLock(directory));
  requireNotMoved(directory);
  const nextId = createUlids(clock, random);
  const { logOrigin, ringKeys } = settle(options, nextId);
  const opened = (await options.openSealing?.(ringKeys)) ?? NOTHING_SEALED;
  if (opened.ring !== undefined) settleRing(directory, opened.ring);
  const { data: sealing } = parts.use(sealingWith(opened));
  const committer = new PoolCommitter(random);
  const journal = options.threads
    ? startLogThreads({ directory, logOrigin, streams, sealing, onCrash: options.onFatal })
    : openInProcess({ directory, logOrigin, streams, clock, nextId, random, committer }, sealing);
  parts.use(journal);
  const reading = parts.use(openJournalForReading(directory));
  const orUnavailable = <T extends object>(port: T) => guarded(port, recordsMessage, options.onFailure);
  const index = parts.use(
    createEventIndex({
      directory,
      logOrigin,
      sealing,
      clock,
      onTrouble: options.onIndexTrouble ?? (() => {}),
    }),
  );
  const work = parts.use(openWork(options));
  await Promise.all([journal.opened, work.opened]).catch(rethrowAsStartError);
  const tree = treeOn(journal);
  const all = parts.move();
  return {
    logOrigin,
    log: logOf(journal),
    logPlace: { of: 'SQLite', data: { directory, logOrigin, sealing } satisfies SqliteLogPlace },
    tree,
    removal: removalOn(removalTables(journal, clock), tree),
    tenantKeys: createTenantKeyStore(reading, journal.owner),
    secretKeys: orUnavailable({
      current: journal.owner.provideSecretKey,
      find: journal.owner.secretKey,
    }),
    records: orUnavailable(createRecordReader(reading)),
    tenants: orUnavailable(createTenantStore(reading, journal.owner, random)),
    keyUses: orUnavailable(createKeyUseStore(reading, journal.owner)),
    olderKeys: {
      list: async () => reading.prepare('SELECT * FROM api_keys').all().map(olderKeyIn),
      remove: journal.owner.removeOlderKeys,
    },
    work: work.store,
    follows: work.follows,
    violations: work.violations,
    index,
    nodes: undefined,
    settleSigner: journal.owner.settleSigner,
    forgetRefusals: async () => {},
    answers: async () => {},
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

function removalTables({ log, owner }: OpenJournal, clock: Clock): RemovalTables {
  return {
    deletions: log.deletions,
    countContents: log.countContents,
    purge: log.purge,
    deleteContents: owner.deleteContents,
    redactions: log.redactions,
    punctureContents: owner.punctureContents,
    eraseTraces: () => eraseTraces(owner.emptyWriteAheadLogs, clock),
    nowMs: async () => undefined,
    dueStreams: log.dueStreams,
    expirySpan: log.expirySpan,
    expired: log.expired,
    markPurged: owner.markPurged,
    reclaimSpace: () => owner.reclaimSpace(),
  };
}

/** As soon as no reader is in the way, which none is for long. */
async function eraseTraces(empty: () => Promise<boolean>, clock: Clock): Promise<void> {
  for (let attempt = 1; !(await empty()); attempt++) {
    if (attempt === ERASING_ATTEMPTS_MAX)
      throw new Error('readers have kept the write-ahead logs from being emptied');
    await wait(clock, ERASING_PAUSE_MS);
  }
}

function settle(
  options: SqliteOptions,
  nextId: () => string,
): { readonly logOrigin: string; readonly ringKeys: readonly string[] } {
  const { directory, logOrigin, exclusive, mayMigrate = exclusive } = options;
  using db = openJournal(directory, { mayMigrate });
  try {
    const installation = settleInstallation(db, { logOrigin, nextId });
    return { logOrigin: installation.logOrigin, ringKeys: namedRingKeysIn(db) };
  } catch (error) {
    if (error instanceof StartError) throw error;
    const why = error instanceof Error ? error.message : String(error);
    throw new StartError(`cannot read ${db.location() ?? directory}: ${why}`, { cause: error });
  }
}

/** The keyring with which the store was begun. */
function settleRing(directory: string, ring: RingData): void {
  using db = openJournal(directory, { mayCreate: false });
  requireSettled(ring, settleKeyring(db, ring.keys[0]!.id));
}

/** An error that comes from a thread has its name and its message, but not its class. */
function rethrowAsStartError(error: unknown): never {
  throw error instanceof Error && error.name === 'StartError' ? new StartError(error.message) : error;
}

/** Runs everything in this thread. */
function openInProcess(options: JournalOwnerOptions, data: SealingData): OpenJournal {
  const { directory, logOrigin } = options;
  const sealing = sealingWith(data);
  const { ring, rows } = sealing;
  const writing = new JournalOwner({ ...options, ring, sealed: rows, sealer: sealing.newSealer() });
  const reading = openJournalForReading(directory);
  const owner = callsHere(writing);
  const ranges = callsHere(new RangeChecks(reading, logOrigin, rows));
  return {
    opened: Promise.resolve(),
    owner,
    append: appendsBy((pool) => owner.append(pool)),
    log: callsHere(new LogTables(reading, logOrigin, rows)),
    trees: callsHere(new TreeReads(reading, logOrigin, rows)),
    growth: callsHere(new TreeGrowth(reading, logOrigin)),
    ranges: rangesBy(async () => ranges),
    async [Symbol.asyncDispose]() {
      reading.close();
      sealing[Symbol.dispose]();
      writing[Symbol.dispose]();
    },
  };
}
