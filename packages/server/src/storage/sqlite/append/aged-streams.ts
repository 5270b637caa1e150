// Finds open streams that have reached their age and that no append has sealed. It cycles through the tenants in
// portions, so that appends do not wait long, and it skips a log that cannot be sealed.

import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { TenantId } from '@tallystick/contract';
import { numberOf, textIn } from '../../rows/columns.ts';

export interface AgedPortion {
  readonly tenants: readonly TenantId[];
  /** Some tenants were not checked yet. */
  readonly hasMore: boolean;
}

const LOOKED_AT_MAX = 1000;
const FOUND_MAX = 100;
/**
 * The offset of receivedAt in an entry, counted from 1 as in SQL: 8 bytes, big-endian, so that they compare like the
 * number.
 */
const RECEIVED_AT = 29;
const RECEIVED_BYTES = 8;

export class AgedStreams {
  readonly #find: StatementSync;
  readonly #last: StatementSync;
  /** The last tenant checked. */
  #reached = 0;

  constructor(db: DatabaseSync) {
    // A stream is created before its first entry is received: if it is young, the entry need not be read.
    this.#find = db.prepare(
      `SELECT tenants.tenant, tenant_id FROM tenants JOIN streams ON streams.tenant = tenants.tenant
         AND first_index = (SELECT max(first_index) FROM streams AS newest WHERE newest.tenant = tenants.tenant)
       JOIN entries ON entries.tenant = tenants.tenant AND leaf_index = first_index
       WHERE tenants.tenant > ?1 AND tenants.tenant <= ?2 AND streams.created_at_ms < ?3
         AND substr(entry, ${RECEIVED_AT}, ${RECEIVED_BYTES}) < ?4
       ORDER BY tenants.tenant LIMIT ${FOUND_MAX}`,
    );
    this.#last = db.prepare('SELECT max(tenant) AS tenant FROM tenants');
  }

  /** Tenants whose open stream began before `cutMs`, from the end of the last portion on. */
  next(cutMs: number): AgedPortion {
    const last = Number(this.#last.get()?.['tenant'] ?? 0);
    const end = Math.min(this.#reached + LOOKED_AT_MAX, last);
    const rows = this.#find.all(this.#reached, end, cutMs, receivedBytes(cutMs));
    const reached = rows.length === FOUND_MAX ? numberOf(rows.at(-1), 'tenant') : end;
    const hasMore = reached < last;
    this.#reached = hasMore ? reached : 0;
    return { tenants: rows.map((row) => textIn(row, 'tenant_id')), hasMore };
  }
}

function receivedBytes(ms: number): Uint8Array {
  const bytes = new Uint8Array(RECEIVED_BYTES);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(Math.ceil(ms)));
  return bytes;
}
