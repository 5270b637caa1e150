// Searches of tenants' logs: over the segments that their manifests list, and over the tails behind them. The manifest is read
// first: the log only grows, so its end is never before that of the segments, without a transaction.

import type { TenantId } from '@tallystick/contract';
import type { Found, IndexState, Question } from '../../../events/event-index.ts';
import type { StoredEvent } from '../../../streams/log.ts';
import { eventOf } from '../logged-event.ts';
import { RecentlyUsed } from '../recently-used.ts';
import { Answerer, type Stopping } from '../search/answer.ts';
import type { Segment } from '../segments/segment.ts';
import { BlockCache } from './block-cache.ts';
import { BlockKeys } from './block-codec.ts';
import { endOf, type ListedSegment, type Manifest, ofThisLog } from './manifest.ts';
import { openSegment } from './open-segment.ts';
import { type IndexedLog, type StoredSegments, TAIL_EVENTS_MAX } from './segment-store.ts';
import { Tails } from './tails.ts';

/** Beyond either of them, a segment of a tail is overdue: its events are large, or a segment was discarded. */
const TAIL_EVENTS = 4096;
const TAIL_BYTES = 4 * 1024 * 1024;

/** So many are known by what is asked again otherwise, in two short queries. */
const TENANTS_MAX = 1000;

interface KnownTenant {
  /** Known once its segments are. */
  keys: BlockKeys | undefined;
  /** Those of its segments that are of the log that is there. */
  ownSegments: ReadonlySet<number>;
}

export interface SearchesOptions {
  /** So many that match are gathered and sorted; of more the order is walked. */
  readonly gatheredMax?: number;
  readonly totalMax?: number;
}

export interface Search {
  readonly found: Found;
  /** Of the tail that it was found in a segment should be made soon, however few events that has. */
  readonly isTailHeavy: boolean;
}

export class Searches {
  readonly #store: StoredSegments;
  readonly #log: IndexedLog;
  readonly #options: SearchesOptions;
  readonly #cache: BlockCache;
  readonly #tails: Tails;
  readonly #known = new RecentlyUsed<TenantId, KnownTenant>(TENANTS_MAX);

  constructor(store: StoredSegments, log: IndexedLog, options: SearchesOptions = {}) {
    this.#store = store;
    this.#log = log;
    this.#options = options;
    this.#cache = new BlockCache(store);
    this.#tails = new Tails(log);
  }

  async find(tenant: TenantId, question: Question, nowMs: number, stopping: Stopping): Promise<Search> {
    const manifest = await this.#store.manifest(tenant);
    const head = await this.#log.head(tenant);
    const removalsTo = manifest?.removalsTo ?? 0;
    const removals = await this.#log.removedSince(tenant, removalsTo);
    const segments = await this.#open(tenant, manifest?.segments ?? []);
    const from = endOf(segments);
    const end = Math.min(head, from + TAIL_EVENTS_MAX);
    const tail = await this.#tails.between(tenant, from, end, removalsTo);
    const log = {
      removals,
      events: async (indexes: readonly number[]) => this.#log.events(tenant, indexes),
      stored: async (indexes: readonly number[]) => this.#log.stored(tenant, indexes),
      queried: (stored: StoredEvent) => eventOf(tenant, stored),
    };
    const { gatheredMax, totalMax } = this.#options;
    const answerer = new Answerer([...segments, ...tail.pieces], question, log, stopping, gatheredMax);
    const answer = await answerer.answer(totalMax);
    const state = await this.#stateOf(tenant, manifest, head, end, nowMs);
    const isTailHeavy = end - from > TAIL_EVENTS || tail.bytes > TAIL_BYTES;
    return { found: { ...answer, state }, isTailHeavy };
  }

  async state(tenant: TenantId, nowMs: number): Promise<IndexState> {
    const manifest = await this.#store.manifest(tenant);
    const head = await this.#log.head(tenant);
    const from = manifest === undefined ? 0 : endOf(manifest.segments);
    return this.#stateOf(tenant, manifest, head, Math.min(head, from + TAIL_EVENTS_MAX), nowMs);
  }

  async #stateOf(
    tenant: TenantId,
    manifest: Manifest | undefined,
    head: number,
    end: number,
    nowMs: number,
  ): Promise<IndexState> {
    return {
      generation: manifest?.generation ?? 1,
      indexedEvents: end,
      pendingEvents: head - end,
      lagMs: end < head ? await this.#waitedMs(tenant, end, nowMs) : 0,
      isRebuilding: manifest?.building !== undefined,
    };
  }

  /** How long ago the event came. */
  async #waitedMs(tenant: TenantId, index: number, nowMs: number): Promise<number> {
    const event = (await this.#log.events(tenant, [index])).events.get(index);
    return event === undefined ? 0 : Math.max(0, nowMs - Date.parse(event.receivedAt));
  }

  async #open(tenant: TenantId, all: readonly ListedSegment[]): Promise<Segment[]> {
    if (all.length === 0) return [];
    const known = this.#knownOf(tenant);
    const own = await this.#ofThisLog(tenant, all, known);
    return Promise.all(
      own.map((listed) => openSegment(tenant, listed, this.#cache.blocksOf(tenant, listed.id, known.keys!))),
    );
  }

  /** A log is put back only while nothing is served from it, so each is compared once. */
  async #ofThisLog(
    tenant: TenantId,
    listed: readonly ListedSegment[],
    known: KnownTenant,
  ): Promise<readonly ListedSegment[]> {
    if (listed.every(({ id }) => known.ownSegments.has(id))) return listed;
    const own = await ofThisLog(tenant, listed, this.#log);
    // The tenant may have got a key meanwhile.
    known.keys = new BlockKeys(...(await this.#log.secrets(tenant)));
    // Those that are not listed any more are forgotten.
    known.ownSegments = new Set(own.length === listed.length ? own.map(({ id }) => id) : []);
    return own;
  }

  #knownOf(tenant: TenantId): KnownTenant {
    let known = this.#known.get(tenant);
    if (known === undefined) {
      known = { keys: undefined, ownSegments: new Set() };
      this.#known.keep(tenant, known);
    }
    return known;
  }
}
