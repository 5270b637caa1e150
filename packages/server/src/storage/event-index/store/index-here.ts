// The index of events in this thread: for a command, and for tests.

import type { TenantId } from '@tallystick/contract';
import type { EventIndex, Found, IndexCheck, Question, TenantIndex } from '../../../events/event-index.ts';
import type { FollowerTurn, FollowerWork } from '../../../followers/follower-work.ts';
import { callsFor, type OfAny } from '../../../runtime/calls.ts';
import type { Clock } from '../../../runtime/clock.ts';
import type { Deadline } from '../../../runtime/deadline.ts';
import type { Awaitable } from '../segments/searched.ts';
import type { Searches } from './searches.ts';
import type { SegmentMaker } from './segment-maker.ts';
import type { Upkeep } from './upkeep.ts';

type IndexOfAny = OfAny<TenantIndex, TenantId>;

export interface IndexHereParts {
  readonly searches: Searches;
  readonly maker: SegmentMaker;
  readonly upkeep: Upkeep;
  readonly isBuilding: () => Awaitable<boolean>;
  readonly clock: Pick<Clock, 'now'>;
}

export class IndexHere implements EventIndex, IndexOfAny, FollowerWork {
  readonly #parts: IndexHereParts;

  constructor(parts: IndexHereParts) {
    this.#parts = parts;
  }

  forTenant(tenant: TenantId): TenantIndex {
    return callsFor<TenantId, IndexOfAny>(tenant, this);
  }

  async find(tenant: TenantId, question: Question, deadline: Deadline): Promise<Found> {
    const { searches, clock } = this.#parts;
    return (await searches.find(tenant, question, clock.now(), deadline)).found;
  }

  state(tenant: TenantId) {
    return this.#parts.searches.state(tenant, this.#parts.clock.now());
  }

  build(tenant: TenantId) {
    return this.#parts.maker.build(tenant);
  }

  forget(tenant: TenantId) {
    return this.#parts.upkeep.forget(tenant);
  }

  indexAgain(tenant: TenantId, index: number) {
    return this.#parts.maker.indexAgain(tenant, index);
  }

  turn(): Promise<FollowerTurn> {
    return this.#parts.maker.turn();
  }

  async isRebuilding(): Promise<boolean> {
    return this.#parts.isBuilding();
  }

  checkNext(): Promise<IndexCheck> {
    return this.#parts.upkeep.checkNext();
  }

  isDamaged(): boolean {
    return false;
  }
}
