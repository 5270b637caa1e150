// The index of events in threads: one makes segments, others search. What they hold can be made again, so a thread that dies
// takes nothing with it: the next call starts another. Segments that turn out to be damaged, or gone, are thrown away and made
// again. No thread is started before it is needed, so that the service is ready without waiting for them.

import { AuditError, type TenantId } from '@tallystick/contract';
import type {
  BuildStep,
  EventIndex,
  Found,
  IndexCheck,
  IndexState,
  TenantIndex,
} from '../../../events/event-index.ts';
import type { FollowerTurn, FollowerWork } from '../../../followers/follower-work.ts';
import { callsFor, type OfAny } from '../../../runtime/calls.ts';
import type { Clock } from '../../../runtime/clock.ts';
import type { ThreadHandle } from '../../../runtime/thread.ts';
import type { Damaged, MakerMessage, SearchMessage, StopFlag } from './index-messages.ts';
import type { Search } from './searches.ts';

export interface ThreadedIndexParts {
  readonly clock: Clock;
  /** `isDiscarded`: it throws away what is there. */
  readonly startMaker: (isDiscarded: boolean, onCrash: (error: Error) => void) => ThreadHandle<MakerMessage>;
  readonly startSearcher: (onCrash: (error: Error) => void) => ThreadHandle<SearchMessage>;
  /** Whether the segments are not what was written; undefined: the store looks after that itself. */
  readonly isDamage?: (error: unknown) => boolean;
  /** Told that a thread has died, and why the segments that were there are thrown away. */
  readonly onTrouble: (what: string, error: Error | undefined) => void;
}

/** So that a long search does not keep all others waiting. One tenant never has all of them. */
const SEARCH_THREADS = 3;
const TENANT_THREADS_MAX = SEARCH_THREADS - 1;
/** Of one search: more come of something else. */
const DAMAGES_MAX = 10;
/** Damage that comes back sooner is not mended by new views at once: it may be one of the log. */
const RENEWED_NS_MIN = 600e9;

type IndexOfAny = OfAny<TenantIndex, TenantId>;

export class ThreadedIndex implements EventIndex, IndexOfAny, FollowerWork, AsyncDisposable {
  readonly #parts: ThreadedIndexParts;
  readonly #searchers: Searcher[];
  #writer: ThreadHandle<MakerMessage> | undefined;
  readonly #asked = new Set<Promise<unknown>>();
  #isStopping = false;
  /** The views are damaged, and too young to be thrown away. */
  #isDamaged = false;
  /** The next writer throws away what is there. */
  #isDiscarded = false;
  #renewedNs: number | undefined;

  constructor(parts: ThreadedIndexParts) {
    this.#parts = parts;
    this.#searchers = Array.from({ length: SEARCH_THREADS }, () => new Searcher(parts));
  }

  forTenant(tenant: TenantId): TenantIndex {
    return callsFor<TenantId, IndexOfAny>(tenant, this);
  }

  async turn(): Promise<FollowerTurn> {
    return (await this.#ask({ verb: 'Turn' })) as FollowerTurn;
  }

  async find(...[tenant, question, deadline]: Parameters<IndexOfAny['find']>): Promise<Found> {
    deadline.throwIfPassed();
    using stopping = stoppedBy(deadline.signal);
    const { stop } = stopping;
    const message: SearchMessage = { verb: 'Find', tenant, question, nowMs: this.#parts.clock.now(), stop };
    const { found, isTailHeavy } = await this.#findOrMend(message);
    // Nobody waits for it.
    if (isTailHeavy) void this.#ask({ verb: 'Hint', tenant }).catch(() => {});
    return found;
  }

  /** A segment that is damaged is discarded: its events are in the tail then. */
  async #findOrMend(message: SearchMessage): Promise<Search> {
    const { tenant } = message;
    for (let damages = 0; ; damages++) {
      const answer = (await this.#search(message)) as Search | Damaged;
      if (!('damaged' in answer)) return answer;
      if (damages === DAMAGES_MAX) throw unavailable('is damaged', undefined);
      // One that is not listed any more was replaced while it was read.
      const isListed = (await this.#ask({ verb: 'Discard', tenant, segment: answer.damaged })) as boolean;
      const what = `segment ${answer.damaged} of the index of ${tenant} is damaged, and made again`;
      if (isListed) this.#parts.onTrouble(what, undefined);
    }
  }

  async build(tenant: TenantId): Promise<BuildStep> {
    return (await this.#ask({ verb: 'Build', tenant })) as BuildStep;
  }

  async forget(tenant: TenantId): Promise<void> {
    await this.#ask({ verb: 'Forget', tenant });
  }

  async indexAgain(tenant: TenantId, index: number): Promise<string | undefined> {
    return (await this.#ask({ verb: 'IndexAgain', tenant, index })) as string | undefined;
  }

  async state(tenant: TenantId): Promise<IndexState> {
    return (await this.#search({ verb: 'State', tenant, nowMs: this.#parts.clock.now() })) as IndexState;
  }

  /** Every event is found at once, so none waits. */
  async isRebuilding(): Promise<boolean> {
    return (await this.#ask({ verb: 'IsBuilding' })) as boolean;
  }

  async checkNext(signal: AbortSignal): Promise<IndexCheck> {
    using stopping = stoppedBy(signal);
    return (await this.#ask({ verb: 'CheckNext', stop: stopping.stop })) as IndexCheck;
  }

  isDamaged(): boolean {
    return this.#isDamaged;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isStopping = true;
    await Promise.allSettled(this.#asked);
    for (const searcher of this.#searchers) await searcher[Symbol.asyncDispose]();
    await this.#writer?.[Symbol.asyncDispose]();
  }

  /** The threads answer what the follower and the reader gave them, so casts of it only repeat their types. */
  async #ask(message: MakerMessage): Promise<unknown> {
    return this.#orRenew((writer) => writer.ask(message));
  }

  #search(message: SearchMessage): Promise<unknown> {
    return this.#orRenew(() => this.#searcherFor(tenantIn(message)).ask(message));
  }

  /** Who asked before the end is answered. */
  async #orRenew(ask: (writer: ThreadHandle<MakerMessage>) => Promise<unknown>): Promise<unknown> {
    if (this.#isStopping) throw unavailable('is being closed', undefined);
    const asked = this.#askOrRenew(ask);
    this.#asked.add(asked);
    try {
      return await asked;
    } finally {
      this.#asked.delete(asked);
    }
  }

  async #askOrRenew(ask: (writer: ThreadHandle<MakerMessage>) => Promise<unknown>): Promise<unknown> {
    const writer = await this.#openWriter().catch((error: unknown) => {
      throw unavailable('cannot be opened', error);
    });
    try {
      return await ask(writer);
    } catch (error) {
      if (this.#parts.isDamage?.(error) !== true) throw error;
      if (this.#writer === writer) await this.#renewOrTell(writer, error as Error);
      throw unavailable('is damaged', error);
    }
  }

  async #renewOrTell(writer: ThreadHandle<MakerMessage>, error: Error): Promise<void> {
    if (this.#mayRenew()) return this.#renew(writer);
    if (!this.#isDamaged)
      this.#parts.onTrouble('the index is damaged again within ten minutes; it is rebuilt after that', error);
    this.#isDamaged = true;
  }

  #mayRenew(): boolean {
    const nowNs = this.#parts.clock.monotonicNs();
    return this.#renewedNs === undefined || nowNs - this.#renewedNs >= RENEWED_NS_MIN;
  }

  /** Leaves all threads to themselves; those who come next have new ones, over a new file. */
  async #renew(writer: ThreadHandle<MakerMessage>): Promise<void> {
    this.#renewedNs = this.#parts.clock.monotonicNs();
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
  async #openWriter(): Promise<ThreadHandle<MakerMessage>> {
    // The first call after the pause renews it; the follower calls every second.
    if (this.#isDamaged && this.#writer !== undefined && this.#mayRenew()) await this.#renew(this.#writer);
    let writer = this.#writer;
    if (writer === undefined || writer.crash !== undefined) {
      const { startMaker, onTrouble } = this.#parts;
      const started = startMaker(this.#isDiscarded, (error) => onTrouble('the index thread has died', error));
      this.#isDiscarded = false;
      writer = this.#writer = started;
      void tellDiscarded(started, onTrouble);
    }
    await writer.opened;
    return writer;
  }
}

/** A flag that other threads see. */
function stoppedBy(signal: AbortSignal): Disposable & { readonly stop: StopFlag } {
  const stop = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const onAbort = () => void Atomics.store(stop, 0, 1);
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort);
  return { stop, [Symbol.dispose]: () => signal.removeEventListener('abort', onAbort) };
}

async function tellDiscarded(
  writer: ThreadHandle<MakerMessage>,
  onTrouble: ThreadedIndexParts['onTrouble'],
): Promise<void> {
  // A thread that does not come up is told of elsewhere.
  const why = await writer.ask({ verb: 'Discarded' }).catch(() => undefined);
  if (typeof why === 'string') onTrouble(`the index is made anew: ${why}`, undefined);
}

/** One search thread, started when it is first asked. */
class Searcher implements AsyncDisposable {
  readonly #parts: ThreadedIndexParts;
  #thread: ThreadHandle<SearchMessage> | undefined;
  /** Whose questions are under way. */
  readonly #asking: (TenantId | undefined)[] = [];

  constructor(parts: ThreadedIndexParts) {
    this.#parts = parts;
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
      const { startSearcher, onTrouble } = this.#parts;
      this.#thread = startSearcher((error) => onTrouble('a search thread has died', error));
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
