// Removes keys of idempotency whose window has ended, while others may be using them anew.

import { type Database, isLockNotAvailable, PROJECTOR, statement } from '../connection/database.ts';

const ROWS_MAX = 1000;

// Asked for again outside: whoever has a row locked may have put the key to use anew, and the window is that of the new use.
const SWEEP = statement(
  `DELETE FROM used_keys WHERE expires_at_ms <= $1 AND (tenant_id, operation, key) IN (
     SELECT tenant_id, operation, key FROM used_keys
     WHERE expires_at_ms <= $1 ORDER BY expires_at_ms LIMIT ${ROWS_MAX})`,
);
/** Less than that after which the database looks for a deadlock: of the two, it is the sweep that begins anew. */
const BRIEFLY = statement("SET LOCAL lock_timeout = '100ms'");

/** True when there may be more. */
export async function sweepUsedKeys(database: Database, steadyNowMs: number): Promise<boolean> {
  try {
    const swept = await database.inTransaction(PROJECTOR, async (transaction) => {
      await transaction.query(BRIEFLY);
      return transaction.change(SWEEP, [steadyNowMs]);
    });
    return swept === ROWS_MAX;
  } catch (error) {
    // Somebody uses one of them: the next sweep finds them again.
    if (isLockNotAvailable(error)) return false;
    throw error;
  }
}
