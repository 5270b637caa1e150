// The port that keeps the positions of followers. A follower has a name and turns the entries of a log into jobs or violations,
// which are stored in one commit with the position behind those entries. So a follower that was killed continues from there, and
// nothing is done twice or left out.

import type { TenantId } from '@tallystick/contract';
import type { AlertChanges } from '../alerts/violations.ts';
import type { RecordKind } from '../records/records.ts';
import type { NewJob } from '../work/jobs.ts';

/** A log with entries that a follower has not taken yet. */
export interface LogBehind {
  readonly tenant: TenantId;
  /** The first index that the follower has not taken. */
  readonly nextIndex: number;
  /** The first index behind the log as it is now. */
  readonly endIndex: number;
}

/** What is made of the entries of a log from `nextIndex` up to, but not including, `endIndex`. */
export interface FollowStep extends LogBehind {
  readonly jobs?: readonly NewJob[];
  readonly alerts?: AlertChanges | undefined;
}

export interface FollowStore {
  /**
   * To be called before anything else is asked under the name. A new follower begins at the first entry of every log, or at
   * the end of those that are there; one that is known stays where it is, but for logs that a restore has made shorter.
   */
  begin(name: string, from: 'Beginning' | 'End'): Promise<void>;
  /** Some of the logs of this node that the follower is behind; `having`: only those of tenants with such records. */
  behind(name: string, max: number, having?: RecordKind): Promise<LogBehind[]>;
  /** For each step, whether it was saved: not if another node has moved the position meanwhile. */
  advance(name: string, steps: readonly FollowStep[]): Promise<boolean[]>;
}
