// Finds open streams that have reached their age and that no append has sealed. It cycles in portions through the
// tenants in the shares that this node holds, and skips a log that cannot be sealed. The lock on the log, not the
// lease, ensures that a stream is sealed once.

import type { TenantId } from '@tallystick/contract';
import { textIn } from '../../rows/columns.ts';
import { ALL_TENANTS, type Database, statement } from '../connection/database.ts';
import type { HeldShares } from '../nodes/held-shares.ts';

export interface AgedPortion {
  readonly tenants: readonly TenantId[];
  /** Some tenants were not checked yet. */
  readonly hasMore: boolean;
}

const LOOKED_AT_MAX = 1000;
const FOUND_MAX = 100;

// A stream is created before its first entry is received: if it is young, the entry need not be read. receivedAt is 8
// bytes big-endian in an entry, so that they compare like the number.
const FIND = statement(
  `SELECT heads.tenant_id, (CASE WHEN stream.created_at_ms < $2 THEN
     (SELECT substring(entry from 29 for 8) < int8send($2) FROM entries
      WHERE entries.tenant_id = heads.tenant_id AND leaf_index = stream.first_index) END) IS TRUE AS is_aged
   FROM heads
   LEFT JOIN LATERAL (SELECT first_index, created_at_ms FROM streams
     WHERE streams.tenant_id = heads.tenant_id ORDER BY first_index DESC LIMIT 1) AS stream ON true
   WHERE heads.tenant_id > $1 AND ($3::smallint[] IS NULL OR heads.share = ANY($3))
   ORDER BY heads.tenant_id LIMIT ${LOOKED_AT_MAX}`,
);

export class AgedStreams {
  readonly #database: Database;
  readonly #held: HeldShares;
  /** The last tenant checked. */
  #reached = '';

  constructor(database: Database, held: HeldShares) {
    this.#database = database;
    this.#held = held;
  }

  /** Tenants whose open stream began before `cutMs`, from the end of the last portion on. */
  async next(cutMs: number): Promise<AgedPortion> {
    const rows = await this.#database.read(ALL_TENANTS, FIND, [this.#reached, cutMs, this.#held.list()]);
    const aged = rows.filter((row) => row['is_aged'] === true).map((row) => textIn(row, 'tenant_id'));
    const tenants = aged.slice(0, FOUND_MAX);
    const isCut = aged.length > FOUND_MAX;
    const hasMore = isCut || rows.length === LOOKED_AT_MAX;
    this.#reached = isCut ? tenants.at(-1)! : hasMore ? textIn(rows.at(-1), 'tenant_id') : '';
    return { tenants, hasMore };
  }
}
