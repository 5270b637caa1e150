// The event index of the embedded store: one thread follows the log, others search. What they hold can be made again, so
// a thread that dies takes nothing with it: the next call starts another. Views that turn out to be damaged, or
// gone, are thrown away and made again. No thread is started before it is needed, so that the service is ready without
// waiting for them.

import { AuditError, type TenantId } from '@tallystick/contract';
import type {
  BuildStep,
  EventIndex,
  Found,
  IndexProgress,
  IndexState,
  TenantIndex,
} from '../../../events/event-index.ts';
import type { FollowerTurn, FollowerWork } from '../../../followers/follower-work.ts';
import { callsFor, type OfAny } from '../../../runtime/calls.ts';
import type { Clock } from '../../../runtime/clock.ts';
import { codeOf, type ThreadHandle, threadsBeside } from '../../../runtime/thread.ts';
import type { IndexData, IndexMessage } from './index-thread.ts';
import type { SearchData, SearchMessage } from './search-thread.ts';

const startThread = threadsBeside(import.meta.url);

export interface EventIndexOptions {
  readonly directory: string;
  readonly logOrigin: string;
  readonly clock: Clock;
  /** Told that a thread has died, and why the views that were there are thrown away. */
  readonly onTrouble: (what: string, error: Error | undefined) => void;
}

/** So that a long search does not keep all others waiting. One tenant never has all of them. */
const SEARCH_THREADS = 3;
const TENANT_THREADS_MAX = SEARCH_THREADS - 1;
/** Damage that comes back sooner is not mended by new views at once: it may be one of the log. */
const RENEWED_NS_MIN = 600e9;

export interface SqliteEventIndex
  extends EventIndex,
    OfAny<TenantIndex, TenantId>,
    FollowerWork,
    AsyncDisposable {}

export function createEventIndex(options: EventIndexOptions): SqliteEventIndex {
  return new ThreadedIndex(options);
}

class ThreadedIndex implements SqliteEventIndex {
  readonly #options: EventIndexOptions;
  readonly #searchers: Searcher[];
  #writer: ThreadHandle<IndexMessage> | undefined;
  #isStopping = false;
  /** The views are damaged, and too young to be thrown away. */
  #isDamaged = false;
  /** The next writer throws away what is there. */
  #isDiscarded = false;
  #renewedNs: number | undefined;

  constructor(options: EventIndexOptions) {
    this.#options = options;
    this.#searchers = Array.from({ length: SEARCH_THREADS }, () => new Searcher(options));
  }

  forTenant(tenant: TenantId): TenantIndex {
    return callsFor<TenantId, OfAny<TenantIndex, TenantId>>(tenant, this);
  }

  async turn(): Promise<FollowerTurn> {
    return (await this.#ask({ verb: 'Turn' })) as FollowerTurn;
  }

  async find(...[tenant, question, deadline]: Parameters<SqliteEventIndex['find']>): Promise<Found> {
    deadline.throwIfPassed();
    const stop = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
    const onPassed = () => void Atomics.store(stop, 0, 1);
    deadline.signal.addEventListener('abort', onPassed);
    try {
      const nowMs = this.#options.clock.now();
      return (await this.#search({ verb: 'Find', tenant, question, nowMs, stop })) as Found;
    } finally {
      deadline.signal.removeEventListener('abort', onPassed);
    }
  }

  async build(tenant: TenantId): Promise<BuildStep> {
    return (await this.#ask({ verb: 'Build', tenant })) as BuildStep;
  }

  async indexAgain(tenant: TenantId, index: number): Promise<string | undefined> {
    return (await this.#ask({ verb: 'IndexAgain', tenant, index })) as string | undefined;
  }

  async state(tenant: TenantId): Promise<IndexState> {
    return (await this.#search({ verb: 'State', tenant, nowMs: this.#options.clock.now() })) as IndexState;
  }

  async stateOfAll(): Promise<IndexProgress> {
    return (await this.#search({ verb: 'StateOfAll', nowMs: this.#options.clock.now() })) as IndexProgress;
  }

  isDamaged(): boolean {
    return this.#isDamaged;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isStopping = true;
    for (const searcher of this.#searchers) await searcher[Symbol.asyncDispose]();
    await this.#writer?.[Symbol.asyncDispose]();
  }

  /** The threads answer what the follower and the reader gave them, so casts of it only repeat their types. */
  async #ask(message: IndexMessage): Promise<unknown> {
    return this.#orRenew((writer) => writer.ask(message));
  }

  #search(message: SearchMessage): Promise<unknown> {
    return this.#orRenew(() => this.#searcherFor(tenantIn(message)).ask(message));
  }

  async #orRenew(ask: (writer: ThreadHandle<IndexMessage>) => Promise<unknown>): Promise<unknown> {
    const writer = await this.#openWriter().catch((error: unknown) => {
      throw unavailable('cannot be opened', error);
    });
    try {
      return await ask(writer);
    } catch (error) {
      if (!isDamage(error)) throw error;
      if (this.#writer === writer) await this.#renewOrTell(writer, error);
      throw unavailable('is damaged', error);
    }
  }

  async #renewOrTell(writer: ThreadHandle<IndexMessage>, error: Error): Promise<void> {
    if (this.#mayRenew()) return this.#renew(writer);
    if (!this.#isDamaged)
      this.#options.onTrouble('views.db is damaged again, so soon that it is not made anew at once', error);
    this.#isDamaged = true;
  }

  #mayRenew(): boolean {
    const nowNs = this.#options.clock.monotonicNs();
    return this.#renewedNs === undefined || nowNs - this.#renewedNs >= RENEWED_NS_MIN;
  }

  /** Leaves all threads to themselves; those who come next have new ones, over a new file. */
  async #renew(writer: ThreadHandle<IndexMessage>): Promise<void> {
    this.#renewedNs = this.#options.clock.monotonicNs();
    this.#writer = undefined;
    this.#isDamaged = false;
    this.#isDiscarded = true;
    for (const searcher of this.#searchers) searcher.leave();
    await writer[Symbol.asyncDispose]();
  }

  /** The idlest that the tenant may have. */
  #searcherFor(tenant: TenantId | undefined): Searcher {
    const own = this.#searchers.filter((each) => tenant !== undefined && each.worksFor(tenant));
    const allowed = own.length < TENANT_THREADS_MAX ? this.#searchers : own;
    return allowed.reduce((least, each) => (each.asked < least.asked ? each : least));
  }

  /** It makes the views where there are none, so it comes before all that read them. */
  async #openWriter(): Promise<ThreadHandle<IndexMessage>> {
    if (this.#isStopping) throw new Error('the index is stopping');
    // The first call after the pause renews it; the follower calls every second.
    if (this.#isDamaged && this.#writer !== undefined && this.#mayRenew()) await this.#renew(this.#writer);
    let writer = this.#writer;
    if (writer === undefined || writer.crash !== undefined) {
      const { directory, onTrouble } = this.#options;
      const data: IndexData = { directory, isDamaged: this.#isDiscarded };
      this.#isDiscarded = false;
      const started = startThread<IndexMessage>('index-thread', data, (error) =>
        onTrouble('the index thread has died', error),
      );
      writer = this.#writer = started;
      void tellDiscarded(started, onTrouble);
    }
    await writer.opened;
    return writer;
  }
}

async function tellDiscarded(
  writer: ThreadHandle<IndexMessage>,
  onTrouble: EventIndexOptions['onTrouble'],
): Promise<void> {
  // A thread that does not come up is told of elsewhere.
  const why = await writer.ask({ verb: 'Discarded' }).catch(() => undefined);
  if (typeof why === 'string') onTrouble(`views.db is made anew: ${why}`, undefined);
}

/** One search thread, started when it is first asked. */
class Searcher implements AsyncDisposable {
  readonly #options: EventIndexOptions;
  #thread: ThreadHandle<SearchMessage> | undefined;
  /** Whose questions are under way. */
  readonly #asking: (TenantId | undefined)[] = [];

  constructor(options: EventIndexOptions) {
    this.#options = options;
  }

  /** How many questions are under way. */
  get asked(): number {
    return this.#asking.length;
  }

  worksFor(tenant: TenantId): boolean {
    return this.#asking.includes(tenant);
  }

  async ask(message: SearchMessage): Promise<unknown> {
    const tenant = tenantIn(message);
    this.#asking.push(tenant);
    try {
      return await this.#open().ask(message);
    } finally {
      this.#asking.splice(this.#asking.indexOf(tenant), 1);
    }
  }

  #open(): ThreadHandle<SearchMessage> {
    if (this.#thread === undefined || this.#thread.crash !== undefined) {
      const { directory, logOrigin, onTrouble } = this.#options;
      const data: SearchData = { directory, logOrigin };
      this.#thread = startThread<SearchMessage>('search-thread', data, (error) =>
        onTrouble('a search thread has died', error),
      );
    }
    return this.#thread;
  }

  /** It ends when it has answered what it was asked. */
  leave(): void {
    void this.#thread?.[Symbol.asyncDispose]();
    this.#thread = undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#thread?.[Symbol.asyncDispose]();
  }
}

/** Undefined for what is asked of all of them. */
function tenantIn(message: SearchMessage): TenantId | undefined {
  return 'tenant' in message ? message.tenant : undefined;
}

function unavailable(how: string, cause: unknown): AuditError {
  return new AuditError('SERVICE_UNAVAILABLE', `The index of events ${how}.`, { cause });
}

/** A file that was cut short reads like a disk that fails. */
const DAMAGE: readonly unknown[] = ['SQLITE_CORRUPT', 'SQLITE_NOTADB', 'SQLITE_CANTOPEN', 'SQLITE_IOERR'];

/** The file is not what was written, or is gone: then a thread that starts cannot open it. */
function isDamage(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  return DAMAGE.includes(codeOf(error)) || error.message.startsWith('no such table');
}
