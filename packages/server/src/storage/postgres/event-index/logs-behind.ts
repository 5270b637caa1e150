// Which logs have gone on since they were indexed, and which of them are taken together: to begin and to end a transaction
// costs as much as many events.

import type { TenantId } from '@tallystick/contract';
import { numberOf, textIn } from '../../rows/columns.ts';
import { ALL_TENANTS, type Database, type Row, statement } from '../connection/database.ts';
import type { HeldShares, Leases } from '../nodes/held-shares.ts';
import { SHARES } from '../schema/schema.ts';

/** A log whose view is behind. */
export interface LogBehind {
  readonly tenant: TenantId;
  readonly share: number;
  /** Of its share; undefined where logs are not divided. */
  readonly lease: Leases | undefined;
  /** How many events are not in the view. */
  readonly count: number;
}

/** How many logs are found at once; the others come in the next turn. */
export const BEHIND_MAX = 1000;
/** A log with more to index is worth a transaction of its own. */
export const SMALL_COUNT_MAX = 200;
const TOGETHER_MAX = 500;

// Share by share: so what is taken together keeps few of them from being given to another node meanwhile. Within a share in
// any order, so no tenant waits for ever behind the same others.
const BEHIND = statement(
  `SELECT heads.tenant_id, heads.share, views.generation IS NULL AS is_new,
     heads.next_index - coalesce(views.next_index, 0) AS behind
   FROM heads
   LEFT JOIN views ON views.tenant_id = heads.tenant_id AND views.state = 'Current'
   WHERE heads.next_index > coalesce(views.next_index, 0) AND ($1::smallint[] IS NULL OR heads.share = ANY($1))
   ORDER BY (heads.share + ${SHARES} - $2::integer) % ${SHARES}, random() LIMIT ${BEHIND_MAX}`,
);
// One that answers comes before what is being made in its place.
const ADD_VIEWS = statement(
  `INSERT INTO views (tenant_id, generation, state)
   SELECT heads.tenant_id,
     coalesce((SELECT min(generation) FROM views WHERE views.tenant_id = heads.tenant_id), 2) - 1, 'Current'
   FROM heads WHERE heads.tenant_id = ANY($1::text[]) ORDER BY heads.tenant_id ON CONFLICT DO NOTHING`,
);

export class LogsBehind {
  readonly #database: Database;
  readonly #held: HeldShares;
  #firstShare = 0;

  constructor(database: Database, held: HeldShares) {
    this.#database = database;
    this.#held = held;
  }

  /** Share by share. Those who had no view have one now. */
  async find(): Promise<LogBehind[]> {
    const leases = this.#held.current();
    const shares = leases === undefined ? null : [...leases.keys()];
    const rows = await this.#database.read(ALL_TENANTS, BEHIND, [shares, this.#firstShare]);
    const fresh = rows.filter((row) => row['is_new'] === true).map((row) => textIn(row, 'tenant_id'));
    if (fresh.length > 0)
      await this.#database.inTransaction(ALL_TENANTS, (transaction) =>
        transaction.change(ADD_VIEWS, [fresh]),
      );
    // Where there are more, each share has its turn.
    if (rows.length === BEHIND_MAX) this.#firstShare = (numberOf(rows.at(-1), 'share') + 1) % SHARES;
    return rows.map((row) => ({
      tenant: textIn(row, 'tenant_id'),
      share: numberOf(row, 'share'),
      lease: leaseOf(row, leases),
      count: numberOf(row, 'behind'),
    }));
  }
}

/** That of the share in a row. */
function leaseOf(row: Row, leases: Leases | undefined): Leases | undefined {
  const share = numberOf(row, 'share');
  return leases && new Map([[share, leases.get(share) ?? -1]]);
}

/** Logs in the order in which they are taken: several together, or one by itself. */
export interface LogsTaken {
  readonly together: readonly (readonly LogBehind[])[];
  readonly alone: readonly LogBehind[];
}

/** Small ones together, with so many events at most. */
export function gathered(logs: readonly LogBehind[], eventsMax: number): LogsTaken {
  const alone: LogBehind[] = [];
  const groups: LogBehind[][] = [];
  let room = 0;
  for (const log of logs) {
    if (log.count > Math.min(SMALL_COUNT_MAX, eventsMax)) {
      alone.push(log);
      continue;
    }
    if (groups.length === 0 || log.count > room || groups.at(-1)!.length === TOGETHER_MAX) {
      groups.push([]);
      room = eventsMax;
    }
    groups.at(-1)!.push(log);
    room -= log.count;
  }
  // One has nobody to be taken with.
  const single = groups.filter(({ length }) => length === 1).flat();
  return { together: groups.filter(({ length }) => length > 1), alone: [...single, ...alone] };
}
