// An index of events over a real store, in this process, with segments of a few events; and what the plain definition finds in
// the same log.

import type { TenantId } from '@tallystick/contract';
import type { Found, Question } from '../../../events/event-index.ts';
import type { QueriedEvent } from '../../../query/queried-event.ts';
import { systemClock } from '../../../runtime/clock.ts';
import { createUlids } from '../../../runtime/ids.ts';
import { createSystemRandom } from '../../../runtime/random.ts';
import type { Storage } from '../../storage.ts';
import { Searches, type SearchesOptions } from '../store/searches.ts';
import { SegmentMaker, type SegmentSizes } from '../store/segment-maker.ts';
import type { IndexedLog, SegmentStore } from '../store/segment-store.ts';
import { draftOf, expectedOf, questionOf, requireSame, type Said } from './plain-definition.ts';

export const NOW_MS = Date.UTC(2026, 5, 1);
const random = createSystemRandom();
const nextId = createUlids(systemClock, random);

/** What a backend provides. */
export interface IndexBackend extends AsyncDisposable {
  readonly storage: Storage;
  /** For the one who makes segments. */
  readonly making: { readonly store: SegmentStore; readonly log: IndexedLog };
  /** For those who search. */
  readonly searching: { readonly store: SegmentStore; readonly log: IndexedLog };
}

export interface TestIndexOptions extends SearchesOptions {
  readonly sizes?: SegmentSizes;
}

const SIZES: SegmentSizes = { small: 5, merged: 3 };

export class TestIndex {
  readonly backend: IndexBackend;
  readonly searches: Searches;
  maker: SegmentMaker;
  /** Events that could not be read, and why. */
  readonly unread: { readonly tenant: TenantId; readonly index: number; readonly reason: string }[] = [];
  readonly #sizes: SegmentSizes;

  constructor(backend: IndexBackend, { sizes = SIZES, ...options }: TestIndexOptions = {}) {
    this.backend = backend;
    this.#sizes = sizes;
    const { store, log } = backend.searching;
    this.searches = new Searches(store, log, options);
    this.maker = this.otherMaker();
  }

  /** One more, as another node has it. */
  otherMaker(store = this.backend.making.store, log = this.backend.making.log): SegmentMaker {
    return new SegmentMaker({
      store,
      log,
      clock: systemClock,
      random,
      sizes: this.#sizes,
      onUnread: (tenant, index, reason) => void this.unread.push({ tenant, index, reason }),
    });
  }

  async append(tenant: TenantId, said: readonly Said[]): Promise<void> {
    const { tenants, log } = this.backend.storage;
    await tenants.ensure(tenant, NOW_MS);
    const drafts = said.map((each) => draftOf(each, nextId));
    await log.append([{ tenant, drafts, atomic: true }], { nowMs: NOW_MS, steadyNowMs: 0 });
  }

  /** Until all segments are made and merged. */
  async follow(): Promise<void> {
    while ((await this.maker.turn()).isMore);
    await this.maker.settle();
    this.maker = this.otherMaker();
  }

  async rebuild(tenant: TenantId): Promise<void> {
    while (!(await this.maker.build(tenant)).isDone);
    await this.maker.settle();
    this.maker = this.otherMaker();
  }

  async find(tenant: TenantId, asked: Partial<Question> = {}): Promise<Found> {
    const never = { throwIfPassed() {} };
    return (await this.searches.find(tenant, questionOf(asked), NOW_MS, never)).found;
  }

  /** All events of a tenant as they are in the log. */
  async logged(tenant: TenantId): Promise<QueriedEvent[]> {
    const { log } = this.backend.searching;
    const events: QueriedEvent[] = [];
    const head = await log.head(tenant);
    for (let next = 0; next < head; ) {
      const portion = await log.between(tenant, next, head, Number.MAX_SAFE_INTEGER);
      events.push(...portion.flatMap(({ event }) => event ?? []));
      next += portion.length;
    }
    return events;
  }

  /** What the index finds is what the plain definition finds; throws where it is not. Gives how many. */
  async requireFound(tenant: TenantId, asked: Partial<Question>, totalMax = Infinity): Promise<number> {
    const expected = expectedOf(await this.logged(tenant), asked);
    return requireSame(expected, await this.find(tenant, asked), asked, totalMax);
  }

  /** Of how many docs each segment is. */
  async segmentsOf(tenant: TenantId): Promise<number[]> {
    const manifest = await this.backend.making.store.manifest(tenant);
    return (manifest?.segments ?? []).map(({ docs }) => docs);
  }
}
