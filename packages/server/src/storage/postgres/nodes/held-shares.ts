// The part of the logs that this node looks after, as it knows it: shares with the tokens under which it has them. What it
// does under a token is written only while that is still the newest: `stillHeld` stands in the same transaction as the
// effect, and nobody can take the share over before that is committed.

import { numberOf } from '../../rows/columns.ts';
import { statement, type Transaction } from '../connection/database.ts';

/** By share, the token. */
export type Leases = ReadonlyMap<number, number>;

/** For so long, and no longer if nothing else is said. */
export type HandOn = (leases: Leases, remainingNs: number) => void;

// It keeps others from taking the share, and not its holder from keeping it for longer.
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

  /** For a process that is alone, or that looks after all logs whoever else does. */
  static all(): HeldShares {
    return new HeldShares(undefined, () => 0);
  }

  /** Some, as they are given and taken. */
  static none(nowNs: () => number): HeldShares {
    return new HeldShares(new Map(), nowNs);
  }

  /** Whether they are some, as they are given and taken. */
  get areDivided(): boolean {
    return this.#leases !== undefined;
  }

  set(leases: Leases, untilNs: number): void {
    this.#leases = leases;
    this.#untilNs = untilNs;
    for (const handOn of this.#handOn) this.tell(handOn);
  }

  /** As another has handed them on. */
  setFor(leases: Leases, remainingNs: number): void {
    this.set(leases, this.#nowNs() + remainingNs);
  }

  /** To a thread, which has a clock of its own: what is held, now and whenever that changes. */
  handOnTo(handOn: HandOn): void {
    this.#handOn.push(handOn);
    this.tell(handOn);
  }

  /** What is held now. */
  tell(handOn: HandOn): void {
    if (this.#leases !== undefined) handOn(this.#leases, this.#untilNs - this.#nowNs());
  }

  /** Undefined: all. After their time is over it has none, even if nobody could tell it. */
  current(): Leases | undefined {
    if (this.#leases === undefined || this.#leases.size === 0) return this.#leases;
    return this.#nowNs() < this.#untilNs ? this.#leases : new Map();
  }

  /** For a statement: the shares, null for all. */
  list(): readonly number[] | null {
    const leases = this.current();
    return leases === undefined ? null : [...leases.keys()];
  }
}

/** Which of the shares are still held under these tokens, until the transaction is over; undefined: all. */
export async function stillHeld(
  transaction: Transaction,
  leases: Leases | undefined,
): Promise<ReadonlySet<number> | undefined> {
  if (leases === undefined) return undefined;
  const rows = await transaction.query(HELD, [[...leases.keys()], [...leases.values()]]);
  return new Set(rows.map((row) => numberOf(row, 'share')));
}
