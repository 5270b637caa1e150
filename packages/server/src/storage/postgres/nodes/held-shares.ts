// The shares of the logs that this node holds, with their lease tokens. Work under a token is written only while the
// token is the newest: `stillHeld` runs in the same transaction as the effect, and no node can take the share over
// before that is committed.

import { numberOf } from '../../rows/columns.ts';
import { statement, type Transaction } from '../connection/database.ts';

/** Share to token. */
export type Leases = ReadonlyMap<number, number>;

/** Valid for this time, unless it is renewed. */
export type HandOn = (leases: Leases, remainingNs: number) => void;

// Prevents others from taking the share, but lets its holder renew it.
const HELD = statement(
  `SELECT leases.share FROM unnest($1::smallint[], $2::bigint[]) AS held (share, token)
   JOIN leases ON leases.share = held.share AND leases.token = held.token FOR KEY SHARE OF leases`,
);

export class HeldShares {
  #leases: Leases | undefined;
  #untilNs = 0;
  readonly #nowNs: () => number;
  readonly #handOn: HandOn[] = [];

  private constructor(leases: Leases | undefined, nowNs: () => number) {
    this.#leases = leases;
    this.#nowNs = nowNs;
  }

  /** For a process that is alone, or that works on all logs regardless of other nodes. */
  static all(): HeldShares {
    return new HeldShares(undefined, () => 0);
  }

  /** Starts without shares; they are set later. */
  static none(nowNs: () => number): HeldShares {
    return new HeldShares(new Map(), nowNs);
  }

  /** Whether shares are set and changed by leases. */
  get areDivided(): boolean {
    return this.#leases !== undefined;
  }

  set(leases: Leases, untilNs: number): void {
    this.#leases = leases;
    this.#untilNs = untilNs;
    for (const handOn of this.#handOn) this.tell(handOn);
  }

  /** Sets leases that another thread has passed on. */
  setFor(leases: Leases, remainingNs: number): void {
    this.set(leases, this.#nowNs() + remainingNs);
  }

  /** Passes the leases to a thread, which has its own clock: now and after every change. */
  handOnTo(handOn: HandOn): void {
    this.#handOn.push(handOn);
    this.tell(handOn);
  }

  /** Passes the current leases. */
  tell(handOn: HandOn): void {
    if (this.#leases !== undefined) handOn(this.#leases, this.#untilNs - this.#nowNs());
  }

  /** Undefined: all. Empty after the leases have expired, even if the node could not renew them. */
  current(): Leases | undefined {
    if (this.#leases === undefined || this.#leases.size === 0) return this.#leases;
    return this.#nowNs() < this.#untilNs ? this.#leases : new Map();
  }

  /** As a statement parameter: the shares, null for all. */
  list(): readonly number[] | null {
    const leases = this.current();
    return leases === undefined ? null : [...leases.keys()];
  }
}

/** The shares that are still held under these tokens, until the end of the transaction; undefined: all. */
export async function stillHeld(
  transaction: Transaction,
  leases: Leases | undefined,
): Promise<ReadonlySet<number> | undefined> {
  if (leases === undefined) return undefined;
  const rows = await transaction.query(HELD, [[...leases.keys()], [...leases.values()]]);
  return new Set(rows.map((row) => numberOf(row, 'share')));
}
