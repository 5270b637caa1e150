// Lanes: the jobs of one kind that have something in common, such as the deliveries to one subscription. A tenant's lanes take turns.
// A lane can be closed: none of its jobs is claimed until it is opened again, and claims do not look at them. What a job says about its
// lane is saved in the same commit as its outcome, so that all nodes know it.

import type { TenantId } from '@tallystick/contract';
import type { JobKind, NewJob } from './jobs.ts';

/** No jobs are in lanes of the other kinds: whether one is closed, and its note, is a state that all nodes share, or that a node finds again. */
export type LaneKind = JobKind | 'ServiceLevel' | 'NodeStatus';

export interface LaneRef {
  readonly kind: LaneKind;
  readonly lane: string;
}

export interface Lane {
  readonly isOpen: boolean;
  /** In a row, up to now, or until it was closed. */
  readonly failures: number;
  /** Since when it is open or closed; undefined: it has never been closed. */
  readonly sinceMs: number | undefined;
  /** Why it is closed; only the caller that closes lanes reads it. */
  readonly note: string | undefined;
}

export interface LaneOpening {
  readonly status: 'Opens';
  /** Unless it is closed with another note by now. */
  readonly ifNote?: string | undefined;
}

export interface LaneClosing {
  readonly status: 'Closes';
  readonly note: string;
  /** Unless it is closed already. */
  readonly ifOpen?: true | undefined;
  /** Unless it is open, or closed with another note by now. */
  readonly ifNote?: string | undefined;
}

/** What a claim may take of a lane at most. */
export interface LaneLimit {
  readonly tenant: TenantId;
  readonly lane: string;
  readonly max: number;
}

/** What the end of a job says of a lane of its tenant. */
export type LaneNews = LaneRef &
  (
    | { readonly status: 'Works' }
    | {
        readonly status: 'Fails';
        /** So many in a row close it. */
        readonly failuresMax: number;
        readonly note: string;
        /** Enqueued in the commit that closes it. */
        readonly jobs: readonly NewJob[];
      }
    /** None of its jobs is claimed before this time has passed, so the first one stays first. */
    | { readonly status: 'Rests'; readonly forMs: number }
    | LaneOpening
    | LaneClosing
  );

/** How long jobs of a closed lane are kept, and then as dead letters. */
export interface Parking {
  readonly waitMs: number;
  readonly letterMs: number;
  /** Of the dead letter. */
  readonly reason: string;
}
