// The last guard of the chain. Before a commit, and under its lock, the new entries are read back and compared with the
// stored leaves before them: an entry that does not name the previous leaf is never committed, even if the writer had a
// wrong head. This is one statement for a whole pool: a trigger would cost twenty times as much, since it runs for each
// row.

import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { TenantId } from '@tallystick/contract';
import { TenantFault } from '../../pool/tenant-fault.ts';
import { numberOf, textIn } from '../../rows/columns.ts';

export class ChainGuard {
  readonly #unlinked: StatementSync;

  constructor(db: DatabaseSync) {
    // SQL cannot compute the genesis hash; entries_by_index makes the first entry of a log unique. Whether an entry is
    // the first after a restore is looked up only if it is not linked: SQLite would do so for every row.
    this.#unlinked = db.prepare(
      `SELECT new.leaf_index, (SELECT tenant_id FROM tenants WHERE tenants.tenant = new.tenant) AS tenant_id
       FROM entries AS new LEFT JOIN entries AS before
         ON before.tenant = new.tenant AND before.leaf_index = new.leaf_index - 1
       WHERE new.id >= ? AND new.leaf_index <> 0 AND CASE WHEN before.leaf IS NOT substr(new.entry, 53, 32) THEN
         NOT EXISTS (SELECT 1 FROM epochs WHERE epochs.tenant = new.tenant AND first_index = new.leaf_index) END
       LIMIT 1`,
    );
  }

  /** Throws TenantFault unless every entry from this id on names the previous leaf. */
  demandChain(firstId: number): void {
    const row = this.#unlinked.get(firstId);
    if (row === undefined) return;
    const index = numberOf(row, 'leaf_index');
    throw new TenantFault(textIn(row, 'tenant_id'), `entry ${index} does not name the leaf before it`);
  }
}

/** A write that the tables refuse is a fault of that log only, too. */
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
