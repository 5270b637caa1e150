// The event index of the embedded store: one thread follows the log, others search. What they hold can be made again, so
// a thread that dies takes nothing with it: it is started anew by whoever asks next. None of them is started before it is
// needed, so that the service is ready without waiting for them.

import type { HeldLetter, LetterStore, LettersWish } from '../../../admin/dead-letters.ts';
import type { Rebuild, RebuildStore } from '../../../admin/rebuild.ts';
import type { TenantId } from '@tallystick/contract';
import type { EventIndex, Found, IndexState } from '../../../events/event-index.ts';
import type { FollowerTurn, FollowerWork } from '../../../followers/follower-work.ts';
import type { Clock } from '../../../runtime/clock.ts';
import { startThread, type ThreadHandle } from '../thread.ts';
import type { IndexData, IndexMessage } from './index-thread.ts';
import type { SearchData, SearchMessage } from './search-thread.ts';

export interface EventIndexOptions {
  readonly directory: string;
  readonly logOrigin: string;
  readonly clock: Clock;
  /** Told that a thread has died, and why the views that were there are thrown away. */
  readonly onTrouble: (what: string, error: Error | undefined) => void;
}

/** Two, so that a long search does not keep all others waiting. */
const SEARCH_THREADS = 2;

export interface SqliteEventIndex
  extends EventIndex,
    FollowerWork,
    RebuildStore,
    LetterStore,
    AsyncDisposable {}

export function createEventIndex(options: EventIndexOptions): SqliteEventIndex {
  return new ThreadedIndex(options);
}

class ThreadedIndex implements SqliteEventIndex {
  readonly #options: EventIndexOptions;
  readonly #searchers: Searcher[];
  #writer: ThreadHandle<IndexMessage> | undefined;
  #isStopping = false;

  constructor(options: EventIndexOptions) {
    this.#options = options;
    this.#searchers = Array.from({ length: SEARCH_THREADS }, () => new Searcher(options));
  }

  async turn(): Promise<FollowerTurn> {
    return (await this.#ask({ verb: 'Turn', nowMs: this.#options.clock.now() })) as FollowerTurn;
  }

  async find(...[tenant, question, deadline]: Parameters<EventIndex['find']>): Promise<Found> {
    await this.#openWriter();
    deadline.throwIfPassed();
    const stop = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
    const onPassed = () => void Atomics.store(stop, 0, 1);
    deadline.signal.addEventListener('abort', onPassed);
    try {
      const nowMs = this.#options.clock.now();
      return (await this.#idlest().ask({ verb: 'Find', tenant, question, nowMs, stop })) as Found;
    } finally {
      deadline.signal.removeEventListener('abort', onPassed);
    }
  }

  async beginRebuild(...[tenant, request]: Parameters<RebuildStore['beginRebuild']>) {
    return (await this.#ask({ verb: 'BeginRebuild', tenant, request })) as Rebuild | undefined;
  }

  async findRebuild(tenant: TenantId, operationId: string) {
    return (await this.#ask({ verb: 'FindRebuild', tenant, operationId })) as Rebuild | undefined;
  }

  async letters(tenant: TenantId, wish: LettersWish) {
    return (await this.#ask({ verb: 'Letters', tenant, wish })) as HeldLetter[];
  }

  async letterCount(tenant: TenantId) {
    return (await this.#ask({ verb: 'LetterCount', tenant })) as number;
  }

  async letterCountOfAll() {
    return (await this.#ask({ verb: 'LetterCountOfAll' })) as number;
  }

  async reprocess(tenant: TenantId, messageId: string) {
    const nowMs = this.#options.clock.now();
    return (await this.#ask({ verb: 'Reprocess', tenant, messageId, nowMs })) as HeldLetter | undefined;
  }

  async state(tenant: TenantId): Promise<IndexState> {
    await this.#openWriter();
    const nowMs = this.#options.clock.now();
    return (await this.#idlest().ask({ verb: 'State', tenant, nowMs })) as IndexState;
  }

  async stateOfAll(): Promise<IndexState> {
    await this.#openWriter();
    return (await this.#idlest().ask({ verb: 'StateOfAll', nowMs: this.#options.clock.now() })) as IndexState;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isStopping = true;
    for (const searcher of this.#searchers) await searcher[Symbol.asyncDispose]();
    await this.#writer?.[Symbol.asyncDispose]();
  }

  /** The threads answer what the follower and the reader gave them, so casts of it only repeat their types. */
  async #ask(message: IndexMessage): Promise<unknown> {
    const writer = await this.#openWriter();
    return writer.ask(message);
  }

  #idlest(): Searcher {
    return this.#searchers.reduce((least, each) => (each.asked < least.asked ? each : least));
  }

  /** It makes the views where there are none, so it comes before all that read them. */
  async #openWriter(): Promise<ThreadHandle<IndexMessage>> {
    if (this.#isStopping) throw new Error('the index is stopping');
    let writer = this.#writer;
    if (writer === undefined || writer.crash !== undefined) {
      const { directory, onTrouble } = this.#options;
      const data: IndexData = { directory };
      const started = startThread<IndexMessage>('event-index/index-thread', data, (error) =>
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
  /** How many questions are under way. */
  asked = 0;

  constructor(options: EventIndexOptions) {
    this.#options = options;
  }

  async ask(message: SearchMessage): Promise<unknown> {
    this.asked += 1;
    try {
      return await this.#open().ask(message);
    } finally {
      this.asked -= 1;
    }
  }

  #open(): ThreadHandle<SearchMessage> {
    if (this.#thread === undefined || this.#thread.crash !== undefined) {
      const { directory, logOrigin, onTrouble } = this.#options;
      const data: SearchData = { directory, logOrigin };
      this.#thread = startThread<SearchMessage>('event-index/search-thread', data, (error) =>
        onTrouble('a search thread has died', error),
      );
      // Whoever asks is told; nobody waits for this alone.
      this.#thread.opened.catch(() => {});
    }
    return this.#thread;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#thread?.[Symbol.asyncDispose]();
  }
}
