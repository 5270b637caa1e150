// The last guard of the chain. Before a commit, and under its lock, the entries that were just written are read back
// and held against the leaves before them as they are stored: whatever the writer believed of a head, an entry that
// does not name the leaf before it is never committed. One statement for a whole pool: a trigger would do the same
// for each row at twenty times the price.

import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { TenantId } from '@tallystick/contract';
import { TenantFault } from '../../pool/tenant-fault.ts';
import { numberOf, textIn } from '../../rows/columns.ts';

export class ChainGuard {
  readonly #unlinked: StatementSync;

  constructor(db: DatabaseSync) {
    // Genesis is a hash that SQL cannot make; the first entry of a log can be there once, by entries_by_index. Whether it
    // is the first one after a restore is only looked up where nothing links it: SQLite would do so for every row.
    this.#unlinked = db.prepare(
      `SELECT new.leaf_index, (SELECT tenant_id FROM tenants WHERE tenants.tenant = new.tenant) AS tenant_id
       FROM entries AS new LEFT JOIN entries AS before
         ON before.tenant = new.tenant AND before.leaf_index = new.leaf_index - 1
       WHERE new.id >= ? AND new.leaf_index <> 0 AND CASE WHEN before.leaf IS NOT substr(new.entry, 53, 32) THEN
         NOT EXISTS (SELECT 1 FROM epochs WHERE epochs.tenant = new.tenant AND first_index = new.leaf_index) END
       LIMIT 1`,
    );
  }

  /** Throws TenantFault unless every entry from this id on names the leaf before it. */
  demandChain(firstId: number): void {
    const row = this.#unlinked.get(firstId);
    if (row === undefined) return;
    const index = numberOf(row, 'leaf_index');
    throw new TenantFault(textIn(row, 'tenant_id'), `entry ${index} does not name the leaf before it`);
  }
}

/** What the tables refuse is of that log alone, too. */
export function orRefused<T>(tenant: TenantId, write: () => T): T {
  try {
    return write();
  } catch (error) {
    throw isConstraint(error) ? new TenantFault(tenant, error.message, error) : error;
  }
}

const SQLITE_CONSTRAINT = 19;

function isConstraint(error: unknown): error is Error {
  if (!(error instanceof Error) || !('errcode' in error) || typeof error.errcode !== 'number') return false;
  return (error.errcode & 0xff) === SQLITE_CONSTRAINT;
}
