// The event index on PostgreSQL. Its tables are beside the log, so that an answer is of one moment of both; each search
// has a connection of its own for that time, and a search whose time is over is ended in the database.

import { LIMITS, type TenantId } from '@tallystick/contract';
import type {
  BuildStep,
  EventIndex,
  Found,
  IndexProgress,
  IndexState,
  Question,
  TenantIndex,
} from '../../../events/event-index.ts';
import type { FollowerTurn, FollowerWork } from '../../../followers/follower-work.ts';
import { callsFor, type OfAny } from '../../../runtime/calls.ts';
import type { Clock } from '../../../runtime/clock.ts';
import type { Deadline } from '../../../runtime/deadline.ts';
import { numberOf } from '../../rows/columns.ts';
import { StoredEvents } from '../../rows/event-row.ts';
import { type Database, type DatabaseScope, statement, type Transaction } from '../connection/database.ts';
import type { HeldShares } from '../nodes/held-shares.ts';
import { FrequentPlans } from './frequent-plans.ts';
import { IndexFollower } from './follower.ts';
import { IndexReader, type ReaderParts, stateIn, stateOfAll } from './index-reader.ts';
import { SearchSlots } from './search-slots.ts';
import { TermsOfViews } from './views.ts';

export interface EventIndexOptions {
  /** Has more connections than there are searches at once, and waits for an answer as long as a search may take. */
  readonly database: Database;
  readonly clock: Pick<Clock, 'now'>;
  /** For messages about events that cannot be indexed. */
  readonly nextId: () => string;
  readonly searchesMax?: number;
  /** So many that match are counted and sorted; past it the order is walked. */
  readonly gatheredMax?: number;
  /** Brings the views after the log; undefined: this thread does, as the following says. */
  readonly follower?: FollowerOfIndex;
  /** How many events the follower takes of a log at once. */
  readonly portion?: number;
  /** The logs that are followed; undefined: all. */
  readonly held?: HeldShares;
}

const SEARCHES_MAX = 4;

const PID = statement('SELECT pg_backend_pid() AS pid');

type IndexOfAny = OfAny<TenantIndex, TenantId>;
/** What brings the views after the log, and makes them anew. */
export type FollowerOfIndex = FollowerWork & Pick<IndexOfAny, 'build' | 'indexAgain'>;

export interface PostgresEventIndex extends EventIndex, IndexOfAny, FollowerWork {}

export function createEventIndex(options: EventIndexOptions): PostgresEventIndex {
  return new Index(options);
}

class Index implements PostgresEventIndex {
  readonly #database: Database;
  readonly #clock: Pick<Clock, 'now'>;
  readonly #slots: SearchSlots;
  readonly #reading: ReaderParts;
  readonly #follower: FollowerOfIndex;

  constructor(options: EventIndexOptions) {
    this.#database = options.database;
    this.#clock = options.clock;
    this.#slots = new SearchSlots(options.searchesMax ?? SEARCHES_MAX);
    this.#reading = {
      terms: new TermsOfViews(),
      frequent: new FrequentPlans(),
      stored: new StoredEvents(),
      gatheredMax: options.gatheredMax ?? LIMITS.listExactTotalMax,
    };
    this.#follower = options.follower ?? new IndexFollower(options);
  }

  forTenant(tenant: TenantId): TenantIndex {
    return callsFor<TenantId, IndexOfAny>(tenant, this);
  }

  turn(): Promise<FollowerTurn> {
    return this.#follower.turn();
  }

  async find(tenant: TenantId, question: Question, deadline: Deadline): Promise<Found> {
    deadline.throwIfPassed();
    const nowMs = this.#clock.now();
    try {
      // Where tables are distributed, a role that is taken on in between would see another state of them.
      const scope: DatabaseScope = (await this.#database.isDistributed())
        ? { role: 'Searcher', tenants: [tenant] }
        : { role: 'Reader', tenants: [tenant], mayTake: 'Searcher' };
      return await this.#slots.run(tenant, deadline, () =>
        this.#database.inOneState(scope, (transaction) =>
          this.#untilPassed(transaction, deadline, () =>
            new IndexReader(transaction, deadline, this.#reading).find(tenant, question, nowMs),
          ),
        ),
      );
    } catch (error) {
      // A statement that was ended for it says something else.
      deadline.throwIfPassed();
      throw error;
    }
  }

  state(tenant: TenantId): Promise<IndexState> {
    return this.#reads(tenant, (transaction) => stateIn(transaction, tenant, this.#clock.now()));
  }

  stateOfAll(): Promise<IndexProgress> {
    return stateOfAll(this.#database, this.#clock.now());
  }

  /** The database looks after its own files. */
  isDamaged(): boolean {
    return false;
  }

  build(tenant: TenantId): Promise<BuildStep> {
    return this.#follower.build(tenant);
  }

  indexAgain(tenant: TenantId, index: number): Promise<string | undefined> {
    return this.#follower.indexAgain(tenant, index);
  }

  #reads<T>(tenant: TenantId, read: (transaction: Transaction) => Promise<T>): Promise<T> {
    return this.#database.inOneState(readerOf(tenant), read);
  }

  /** Ends the statement that runs when the time is over. */
  async #untilPassed<T>(transaction: Transaction, deadline: Deadline, work: () => Promise<T>): Promise<T> {
    // Not waited for: if it fails, so does all that is asked behind it.
    const pid = transaction.query(PID).then(([row]) => numberOf(row, 'pid'));
    pid.catch(() => {});
    let cancelled: Promise<unknown> | undefined;
    const onPassed = () => {
      cancelled = pid
        .then((own) =>
          // Only the user who asks may end it.
          this.#database.plainly((client) => client.query('SELECT pg_cancel_backend($1)', [own]), 'Index'),
        )
        // It ends by itself then, after the longest time that any statement may take.
        .catch(() => {});
    };
    const { signal } = deadline;
    if (signal.aborted) throw signal.reason as Error;
    signal.addEventListener('abort', onPassed);
    try {
      return await work();
    } finally {
      signal.removeEventListener('abort', onPassed);
      // Before the connection is somebody else's, whose statement would be ended.
      await cancelled;
    }
  }
}

function readerOf(tenant: TenantId): DatabaseScope {
  return { role: 'Reader', tenants: [tenant] };
}
