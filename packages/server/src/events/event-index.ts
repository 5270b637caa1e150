// The index of events: the port through which lists and searches find them. Every event is found as soon as it is stored,
// unless the index is far behind; then `state` says so. The found events are read from the log itself, so that readers see what was hashed.

import type { Aggregation, Aggregations, PolicyId, SearchFilters, TenantId } from '@tallystick/contract';
import type { Query } from '../query/query.ts';
import type { Direction } from '../paging.ts';
import type { IndexSight } from '../policies/sight.ts';
import type { Deadline } from '../runtime/deadline.ts';
import type { StoredEvent } from '../streams/log.ts';

export const ORDER_FIELDS = ['timestamp', 'eventId', 'action'] as const;
export type OrderField = (typeof ORDER_FIELDS)[number];

/** A step of an order. Events that are equal in all steps are in the order of the log. */
export interface OrderStep {
  readonly field: OrderField;
  readonly isDescending: boolean;
}

/** The values of an event that decide its place in any order. */
export interface SortKey {
  readonly atMs: number;
  readonly atNs: number;
  readonly action: string;
  readonly eventId: string;
  /** In the tenant's sequence. */
  readonly index: number;
}

export interface Question {
  readonly query: Query;
  readonly filters: SearchFilters;
  readonly sight: IndexSight;
  /** Only events that this policy has decided about. */
  readonly decidedBy?: PolicyId;
  /** Relevance: the best of the newest matches, on one page. */
  readonly order: readonly OrderStep[] | 'Relevance';
  readonly direction: Direction;
  /** Only events strictly beyond it. */
  readonly beyond: SortKey | undefined;
  readonly rowsMax: number;
  readonly aggregations: readonly Aggregation[];
  /** Whether it matters how well each event fits the words, and where they stand. */
  readonly isScored: boolean;
}

export interface FoundEvent {
  readonly place: SortKey;
  readonly stored: StoredEvent;
  /** Present if it matters and the query has words. */
  readonly score: number | undefined;
  /** By field, the pieces of it in which the words stand; under the same conditions. */
  readonly highlights: Readonly<Record<string, string[]>> | undefined;
}

export interface Found {
  /** In the direction that was asked for, the nearest first. */
  readonly events: readonly FoundEvent[];
  /** Fewer were read than are there, because they are large. */
  readonly isCut: boolean;
  /** Of all pages together: exact up to the limit, one more past it. */
  readonly total: number;
  readonly aggregations: Aggregations | undefined;
  /** Over the newest matches only. */
  readonly isApproximate: boolean;
  readonly state: IndexState;
}

/** How far an index has come, be it of one tenant or of all of them. */
export interface IndexProgress {
  /** How long the oldest event that is not in it has waited; 0 when all are. */
  readonly lagMs: number;
  readonly pendingEvents: number;
  /** Another one is being made in its place. */
  readonly isRebuilding: boolean;
}

/** The state of a tenant's index. */
export interface IndexState extends IndexProgress {
  /** How many times it has been made, from 1. */
  readonly generation: number;
  /** How far it has come in the tenant's sequence. */
  readonly indexedEvents: number;
}

/** The index of one tenant's events. */
export interface TenantIndex {
  /** Stops when the deadline passes. */
  find(question: Question, deadline: Deadline): Promise<Found>;
  state(): Promise<IndexState>;
  /**
   * The next portion of an index that is made anew, beside the one that answers; begun if there is none. It takes the place of
   * the other when it is complete.
   */
  build(): Promise<BuildStep>;
  /** Once content was removed under notices: leaves nothing of it in the index. No question finds it before, either. */
  forget(): Promise<void>;
  /** Tries an event again that could not be indexed; returns why it still cannot be; undefined: it is in the index. */
  indexAgain(index: number): Promise<string | undefined>;
}

export interface EventIndex {
  forTenant(tenant: TenantId): TenantIndex;
  /** That of some tenant is being made anew. */
  isRebuilding(): Promise<boolean>;
  /** Compares the next part of the index with the log, of all there are in turn; one that differs is made again. */
  checkNext(signal: AbortSignal): Promise<IndexCheck>;
  /** The index was found damaged and is not made anew yet: questions may get no answer. */
  isDamaged(): boolean;
}

export interface IndexCheck {
  /** Nothing is left that was not compared since the last time that this was said. */
  readonly isRoundDone: boolean;
  readonly fault:
    | {
        readonly tenant: TenantId;
        /** Of the first event that differs; undefined where none can be named. */
        readonly index: number | undefined;
        readonly message: string;
      }
    | undefined;
}

/** How far the new index of a tenant has come. */
export interface BuildStep {
  readonly processedEvents: number;
  readonly totalEvents: number;
  /** The new index answers now. */
  readonly isDone: boolean;
}
