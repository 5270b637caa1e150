// The port of a follower's work, which each backend does in its own way. A turn takes the next portion of the log, and saves
// the position in the same commit as its results, so a follower that was killed continues from there.

import type { TenantId } from '@tallystick/contract';

/** A log as a turn has left it: what was appended meanwhile is not counted. */
export interface LogLeft {
  readonly tenant: TenantId;
  /** The first index that is not taken. */
  readonly nextIndex: number;
  /** The first index behind the log. */
  readonly endIndex: number;
}

export interface FollowerTurn {
  /** There is more to do at once. */
  readonly isMore: boolean;
  /** How many events of the log were taken. */
  readonly taken: number;
  /** The logs that it found behind, those that it could not take, too. */
  readonly logs: readonly LogLeft[];
  /** No other log is behind. */
  readonly isAll: boolean;
  /** Events that could not be handled and were set aside, and why. */
  readonly setAside: readonly SetAside[];
}

export interface SetAside {
  readonly tenantId: string;
  readonly sequence: number;
  readonly reason: string;
}

export interface FollowerWork {
  turn(): Promise<FollowerTurn>;
}
