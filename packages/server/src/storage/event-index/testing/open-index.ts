// An index of events over a real store, in this process, with segments of a few events; and what the plain definition finds in
// the same log.

import type { TenantId } from '@tallystick/contract';
import { decodeEntry, KINDS, subtreesOf, tagOf, toBase64 } from '@tallystick/evidence';
import type { Found, Question } from '../../../events/event-index.ts';
import type { QueriedEvent } from '../../../query/queried-event.ts';
import { systemClock } from '../../../runtime/clock.ts';
import { createUlids } from '../../../runtime/ids.ts';
import { createSystemRandom } from '../../../runtime/random.ts';
import { draftNotice } from '../../../streams/append/notice.ts';
import type { Draft } from '../../../streams/log.ts';
import type { Storage } from '../../storage.ts';
import { Searches, type SearchesOptions } from '../store/searches.ts';
import { SegmentMaker, type SegmentSizes } from '../store/segment-maker.ts';
import type { IndexedLog, SegmentStore } from '../store/segment-store.ts';
import type { WriterParts } from '../store/segment-writer.ts';
import { Upkeep } from '../store/upkeep.ts';
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
    return new SegmentMaker({ ...this.#writing(store, log), sizes: this.#sizes });
  }

  upkeep(log = this.backend.making.log): Upkeep {
    return new Upkeep(this.#writing(this.backend.making.store, log));
  }

  #writing(store: SegmentStore, log: IndexedLog): WriterParts {
    return {
      store,
      log,
      clock: systemClock,
      random,
      onUnread: (tenant, index, reason) => void this.unread.push({ tenant, index, reason }),
    };
  }

  async append(tenant: TenantId, said: readonly Said[]): Promise<void> {
    await this.backend.storage.tenants.ensure(tenant, NOW_MS);
    await this.#appendDrafts(
      tenant,
      said.map((each) => draftOf(each, nextId)),
    );
  }

  /** The notice of a removal; nothing is deleted yet. */
  async appendPurge(tenant: TenantId, begin: number, end: number): Promise<void> {
    const payload = {
      policyId: null,
      policyVersion: null,
      cause: 'Retention' as const,
      ranges: [[begin, end] as [number, number]],
      count: end - begin,
      subtrees: subtreesOf({ begin, end }).map(() => toBase64(new Uint8Array(32))),
    };
    const resource = { resourceType: 'Log', resourceId: tenant };
    const correlationId = random.uuid();
    const facts = { kind: KINDS.purge, action: 'Purge.Events', resource, payload, correlationId };
    await this.#appendDrafts(tenant, [draftNotice(facts, { eventId: nextId(), nowMs: NOW_MS })]);
  }

  /** A redaction notice of the units at these paths. */
  async appendRedaction(tenant: TenantId, leafIndex: number, ...paths: readonly string[]): Promise<void> {
    const [stored] = await this.backend.storage.log.forTenant(tenant).events(leafIndex, leafIndex + 1, 1);
    const { eventId } = decodeEntry(stored!.entry);
    const tags = paths.map((path) => toBase64(tagOf(path).bytes));
    const payload = { leafIndex, eventId, tags, cause: 'Redaction' as const };
    const resource = { resourceType: 'Event', resourceId: eventId };
    const facts = { kind: KINDS.redaction, action: 'Redact.Event', resource, payload };
    const notice = { ...facts, correlationId: random.uuid() };
    await this.#appendDrafts(tenant, [draftNotice(notice, { eventId: nextId(), nowMs: NOW_MS })]);
  }

  async #appendDrafts(tenant: TenantId, drafts: readonly Draft[]): Promise<void> {
    const { log } = this.backend.storage;
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
