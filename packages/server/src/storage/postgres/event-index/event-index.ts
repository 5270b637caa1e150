// The index of events on PostgreSQL: segments are rows beside the log. Threads make and search them, each over connections of
// its own.

import type { EventIndex } from '../../../events/event-index.ts';
import type { FollowerWork } from '../../../followers/follower-work.ts';
import type { Clock } from '../../../runtime/clock.ts';
import type { Random } from '../../../runtime/random.ts';
import { type ThreadHandle, threadsBeside } from '../../../runtime/thread.ts';
import { ATTEMPTS_MAX, letterJob } from '../../event-index/index-letter.ts';
import { IndexHere } from '../../event-index/store/index-here.ts';
import type { MakerMessage, SearchMessage } from '../../event-index/store/index-messages.ts';
import { Searches, type SearchesOptions } from '../../event-index/store/searches.ts';
import { SegmentMaker } from '../../event-index/store/segment-maker.ts';
import type { WriterParts } from '../../event-index/store/segment-writer.ts';
import { Upkeep } from '../../event-index/store/upkeep.ts';
import { ThreadedIndex } from '../../event-index/store/threaded-index.ts';
import type { Sealing, SealingData } from '../../sealing/sealing.ts';
import { JobTables } from '../../work/job-tables.ts';
import { ALL_TENANTS, Database, type DatabaseOptions } from '../connection/database.ts';
import { HeldShares } from '../nodes/held-shares.ts';
import { jobsIn } from '../work/work.ts';
import type { IndexData, HeldMessage } from './index-thread.ts';
import { LogEvents } from './log-events.ts';
import type { SearchData } from './search-thread.ts';
import { SegmentReads, SegmentTables } from './segment-tables.ts';
import { readsOver } from './tenant-reads.ts';

const startThread = threadsBeside(import.meta.url);

export interface IndexParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly random: Random;
  /** For messages about events that cannot be indexed. */
  readonly nextId: () => string;
  /** The logs that are followed; undefined: all. */
  readonly held?: HeldShares;
  /** Undefined: what is sealed is not read. */
  readonly sealing?: Sealing;
}

/** Reads what one tenant may. */
export function searchesOver(
  { database, sealing }: Pick<IndexParts, 'database' | 'sealing'>,
  options?: SearchesOptions,
): Searches {
  const reads = readsOver(database, (tenant) => ({ role: 'Reader', tenants: [tenant] }));
  return new Searches(new SegmentReads(reads), new LogEvents(reads, undefined, sealing?.rows), options);
}

export interface Making {
  readonly maker: SegmentMaker;
  readonly upkeep: Upkeep;
  readonly store: SegmentTables;
}

export function makingOver(own: IndexParts): Making {
  const { database, clock, random, nextId, held = HeldShares.all(), sealing } = own;
  const reads = readsOver(database, () => ALL_TENANTS);
  const store = new SegmentTables({ database, clock, random, reads });
  const jobs = new JobTables(jobsIn(database));
  const parts: WriterParts = {
    store,
    log: new LogEvents(reads, held, sealing?.rows),
    clock,
    random,
    onUnread: (tenant, index, reason) =>
      database.inTransaction(ALL_TENANTS, async (transaction) => {
        await jobs.add(transaction, letterJob(tenant, { index, reason, attempts: ATTEMPTS_MAX }, nextId()));
      }),
  };
  return { maker: new SegmentMaker(parts), upkeep: new Upkeep(parts), store };
}

/** In this thread. */
export function indexHere(parts: IndexParts, options?: SearchesOptions): IndexHere {
  const { maker, upkeep, store } = makingOver(parts);
  return new IndexHere({
    searches: searchesOver(parts, options),
    maker,
    upkeep,
    isBuilding: () => store.isBuilding(),
    clock: parts.clock,
  });
}

export interface IndexThreadsParts {
  readonly making: Omit<DatabaseOptions, 'onTrouble'>;
  readonly searching: Omit<DatabaseOptions, 'onTrouble'>;
  readonly sealing: SealingData;
  readonly held: HeldShares;
  readonly clock: Clock;
  readonly onTrouble: (what: string, error: Error | undefined) => void;
}

export function indexInThreads({
  making,
  searching,
  sealing,
  held,
  clock,
  onTrouble,
}: IndexThreadsParts): EventIndex & FollowerWork & AsyncDisposable {
  let maker: ThreadHandle<MakerMessage | HeldMessage> | undefined;
  held.handOnTo((leases, remainingNs) => {
    // One that is started later is told then.
    maker?.ask({ verb: 'Held', leases, remainingNs }).catch(() => {});
  });
  return new ThreadedIndex({
    clock,
    onTrouble,
    startMaker(_, onCrash) {
      const data: IndexData = { connecting: making, sealing, areDivided: held.areDivided };
      const started = startThread<MakerMessage | HeldMessage>('index-thread', data, onCrash);
      maker = started;
      held.tell((leases, remainingNs) => {
        started.ask({ verb: 'Held', leases, remainingNs }).catch(() => {});
      });
      return started;
    },
    startSearcher(onCrash) {
      const data: SearchData = { connecting: searching, sealing };
      return startThread<SearchMessage>('search-thread', data, onCrash);
    },
  });
}
