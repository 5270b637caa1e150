// Removes idempotency keys whose window has ended, while other transactions may reuse them.

import { ALL_TENANTS, type Database, isLockNotAvailable, statement } from '../connection/database.ts';

const ROWS_MAX = 1000;

// The condition is repeated outside: a transaction that held the row may have reused the key with a new window.
const SWEEP = statement(
  `DELETE FROM used_keys WHERE expires_at_ms <= $1 AND (tenant_id, operation, key) IN (
     SELECT tenant_id, operation, key FROM used_keys
     WHERE expires_at_ms <= $1 ORDER BY expires_at_ms LIMIT ${ROWS_MAX})`,
);
/** Shorter than the database's deadlock timeout, so that the sweep, not the other transaction, is aborted. */
const BRIEFLY = statement("SET LOCAL lock_timeout = '100ms'");

/** True if there may be more. */
export async function sweepUsedKeys(database: Database, steadyNowMs: number): Promise<boolean> {
  try {
    const swept = await database.inTransaction(ALL_TENANTS, async (transaction) => {
      await transaction.query(BRIEFLY);
      return transaction.change(SWEEP, [steadyNowMs]);
    });
    return swept === ROWS_MAX;
  } catch (error) {
    // A key is in use: the next sweep finds them again.
    if (isLockNotAvailable(error)) return false;
    throw error;
  }
}
