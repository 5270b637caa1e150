// The PostgreSQL backend: any number of equal nodes on one database. Appends have their own connection, and so has
// every other part that must not wait for others; readers share some.

import type { Nodes } from '../../nodes/nodes.ts';
import type { Clock } from '../../runtime/clock.ts';
import { createUlids } from '../../runtime/ids.ts';
import type { Random } from '../../runtime/random.ts';
import type { StreamLimits } from '../../streams/log.ts';
import { PoolCommitter } from '../pool/pool-commitments.ts';
import { guarded, recordsMessage } from '../guarded.ts';
import { removalOn } from '../removal.ts';
import {
  NOTHING_SEALED,
  type OpenSealing,
  requireSettled,
  type SealingData,
  sealingWith,
} from '../sealing/sealing.ts';
import type { LogPlace, Storage } from '../storage.ts';
import {
  ALL_TENANTS,
  Database,
  type DatabaseOptions,
  type DatabaseScope,
  statement,
} from './connection/database.ts';
import { removalTables } from './log/deletions.ts';
import { indexHere, indexInThreads } from './event-index/event-index.ts';
import { createFollowStore } from './work/follow.ts';
import { COMMITS_AT_ONCE } from './append/journal.ts';
import { createLogWith, writesHere } from './log/log.ts';
import type { PostgresLogPlace } from './log/read-elsewhere.ts';
import { HeldShares } from './nodes/held-shares.ts';
import { createKeyUseStore } from './records/key-uses.ts';
import type { LoginUrls } from './connection/logins.ts';
import { settleInstallation, settleKeyring, settleSigner } from './schema/meta.ts';
import { requireReady } from './schema/migrate.ts';
import { Notifications } from './nodes/notifications.ts';
import { forgetRefusals, type NodeSelf, PostgresNodes } from './nodes/nodes.ts';
import { ensureReady } from './schema/provision.ts';
import { createOlderKeyStore } from './records/older-keys.ts';
import { createSecretKeys } from './records/secret-keys.ts';
import { createTenantKeyStore, namedRingKeysIn } from './records/tenant-keys.ts';
import { createRecordReader } from './records/records.ts';
import { createTenantStore } from './records/tenants.ts';
import { startWriter } from './append/threaded-writer.ts';
import { createTree } from './tree/tree.ts';
import { exposureOf, usersOf } from './connection/users.ts';
import { createViolationStore, createWorkStore } from './work/work.ts';

export interface PostgresOptions extends LoginUrls {
  /** As configured; undefined: keep the current name, or derive one. */
  readonly logOrigin: string | undefined;
  readonly streams: StreamLimits;
  readonly clock: Clock;
  readonly random: Random;
  /** Joins the nodes under this name, and works on its share of the logs; undefined: on all of them. */
  readonly node?: Omit<NodeSelf, 'instance'>;
  /** Uses threads for appends and for the index, as the service does; undefined: this thread does the work. */
  readonly threads?: ThreadsOptions;
  /** Creates missing tables; undefined: yes. */
  readonly mayMigrate?: boolean;
  /** New tables are distributed over machines; undefined: no. */
  readonly distribute?: boolean;
  /** Told which keys of a keyring have sealed keys of tenants, it gives the keyring; undefined: nothing is sealed. */
  readonly openSealing?: OpenSealing | undefined;
  /** The tables are distributed; undefined: detect it. */
  readonly isDistributed?: boolean;
  /** Called when keys or tenants could not be read or written. */
  readonly onFailure?: (error: unknown) => void;
  /** Called when an idle connection breaks. */
  readonly onTrouble?: (error: Error) => void;
  /** Called with one line if the serving user has the rights of other users. */
  readonly onExposure?: (line: string) => void;
}

export interface ThreadsOptions {
  /** Called when the writer thread has died: the process cannot continue. */
  readonly onFatal: (error: Error) => void;
  /** Called for problems of the index only: the log is not affected. */
  readonly onIndexTrouble: (what: string, error: Error | undefined) => void;
}

/** One for pools, one that waits for a locked log, and one for everything else. */
const WRITING_CONNECTIONS = 3;
/** One that makes segments, one that merges them. */
const MAKING_CONNECTIONS = 2;
/** Of each thread that searches. */
const SEARCHING_CONNECTIONS = 2;
const READING_CONNECTIONS = 8;
const TREE_CONNECTIONS = 2;
const INDEX_CONNECTIONS = 6;
/** One that claims jobs, one that ends them, and one for callers. */
const WORK_CONNECTIONS = 3;
/** With several users, the other one gets this number of connections for its few queries. */
const FEW_OF_INDEX = { connectionsMaxOf: { Index: 2 } };
/** A beat that takes longer does not count: the next one is due. */
const BEAT_MS_MAX = 2000;
/** The longest that a health check waits. */
const ALIVE_MS_MAX = 2000;
/** A search has its own, earlier deadline. */
const SEARCH_MS_MAX = 60_000;

const ANSWERS = statement('SELECT 1');
const READER: DatabaseScope = { role: 'Reader', tenants: [] };

/** Throws StartError. Creates missing tables, if the user may. */
export async function openPostgresStorage(options: PostgresOptions): Promise<Storage> {
  const { url, indexUrl, retentionUrl, streams, clock, random, onFailure } = options;
  const urls = { url, indexUrl, retentionUrl };
  await using parts = new AsyncDisposableStack();
  const told = toldOf(options);
  const connect = (connectionsMax: number, more: Partial<DatabaseOptions> = {}) =>
    parts.use(new Database({ ...urls, connectionsMax, ...told, ...more }));
  const reading = connect(READING_CONNECTIONS, FEW_OF_INDEX);
  await makeReady(reading, options);
  const isDistributed = await reading.isDistributed();
  const writers = WRITING_CONNECTIONS + (isDistributed ? COMMITS_AT_ONCE : 0);
  const nextId = createUlids(clock, random);
  const { logOrigin } = await settleInstallation(reading, { logOrigin: options.logOrigin, nextId });
  const sealing = parts.use(sealingWith(await openedSealing(reading, options)));
  const { ring, rows: sealed, data: sealingData } = sealing;
  const held = options.node === undefined ? HeldShares.all() : HeldShares.none(() => clock.monotonicNs());
  const connecting = { ...urls, isDistributed };
  const toWrite = { ...connecting, connectionsMax: writers, ...FEW_OF_INDEX };
  const writing = { connecting: toWrite, logOrigin, streams, held };
  const own = { committer: new PoolCommitter(random), clock, random, nextId, ring };
  const writer = options.threads
    ? parts.use(await startWriter({ ...writing, sealing: sealingData, onCrash: options.threads.onFatal }))
    : writesHere({
        ...writing,
        ...own,
        writing: connect(writers, FEW_OF_INDEX),
        sealer: sealing.newSealer(),
      });
  const log = createLogWith(writer, { reading, logOrigin, sealed });
  const orUnavailable = <T extends object>(port: T) => guarded(port, recordsMessage, onFailure);
  const tree = createTree(connect(TREE_CONNECTIONS), logOrigin, reading, held, sealed);
  const index = options.threads
    ? parts.use(threadedIndex(connecting, sealingData, held, clock, options.threads))
    : indexHere({ database: connect(INDEX_CONNECTIONS), clock, random, nextId, held, sealing });
  const nodes = options.node && takingPart(options.node);
  function takingPart(node: Omit<NodeSelf, 'instance'>): Nodes {
    const instance = nextId();
    const notifications = parts.use(new Notifications({ url, instance, clock }));
    notifications.start();
    const database = connect(1, { answerMsMax: BEAT_MS_MAX });
    return new PostgresNodes({ database, self: { ...node, instance }, held, notifications, clock });
  }
  const [asking, working] = [connect(1, { answerMsMax: ALIVE_MS_MAX }), connect(WORK_CONNECTIONS)];
  const opened = parts.move();
  return {
    logOrigin,
    log,
    logPlace: placeOf({ connecting, logOrigin, sealing: sealingData }),
    tree,
    tenantKeys: createTenantKeyStore(reading, { ring, random }),
    removal: removalOn(removalTables(reading, held, sealed), tree),
    secretKeys: orUnavailable(createSecretKeys(reading, own)),
    records: orUnavailable(createRecordReader(reading)),
    tenants: orUnavailable(createTenantStore(reading, random)),
    keyUses: orUnavailable(createKeyUseStore(reading)),
    olderKeys: createOlderKeyStore(reading),
    work: createWorkStore(working),
    follows: createFollowStore(working, held),
    violations: createViolationStore(working),
    index,
    nodes,
    settleSigner: (fingerprint) => settleSigner(reading, fingerprint),
    forgetRefusals: (tenants) => forgetRefusals(reading, tenants),
    answers: () => answersOf(asking),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

const placeOf = (data: PostgresLogPlace): LogPlace => ({ of: 'PostgreSQL', data });

/** Throws StartError. */
async function makeReady(database: Database, options: PostgresOptions): Promise<void> {
  await usersOf(database);
  await (options.mayMigrate === false ? requireReady(database) : ensureReady(database, options));
  const exposure = await exposureOf(database);
  if (exposure !== undefined) options.onExposure?.(exposure);
}

function toldOf({ onTrouble, isDistributed }: PostgresOptions): Partial<DatabaseOptions> {
  return {
    ...(onTrouble === undefined ? {} : { onTrouble }),
    ...(isDistributed === undefined ? {} : { isDistributed }),
  };
}

async function openedSealing(
  database: Database,
  { openSealing }: Pick<PostgresOptions, 'openSealing'>,
): Promise<SealingData> {
  const sealing = (await openSealing?.(await namedRingKeysIn(database))) ?? NOTHING_SEALED;
  const { ring } = sealing;
  if (ring !== undefined) requireSettled(ring, await settleKeyring(database, ring.keys[0]!.id));
  return sealing;
}

/** Checks each user that is needed to answer requests. */
async function answersOf(database: Database): Promise<void> {
  await database.read(ALL_TENANTS, ANSWERS);
  if (database.logins.includes('Index')) await database.read(READER, ANSWERS);
}

function threadedIndex(
  connecting: LoginUrls & Pick<DatabaseOptions, 'isDistributed'>,
  sealing: SealingData,
  held: HeldShares,
  clock: Clock,
  { onIndexTrouble: onTrouble }: ThreadsOptions,
): ReturnType<typeof indexInThreads> {
  const over = (connectionsMax: number) => ({ ...connecting, connectionsMax, answerMsMax: SEARCH_MS_MAX });
  const [making, searching] = [over(MAKING_CONNECTIONS), over(SEARCHING_CONNECTIONS)];
  return indexInThreads({ making, searching, sealing, held, clock, onTrouble });
}
