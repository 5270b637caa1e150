// Removes idempotency keys whose window has ended, while other transactions may reuse them.

import type { TenantId } from '@tallystick/contract';
import { ALL_TENANTS, type Database, isLockNotAvailable, statement } from '../connection/database.ts';

const ROWS_MAX = 1000;

// The condition is repeated outside: a transaction that held the row may have reused the key with a new window.
const SWEEP = statement(
  `DELETE FROM used_keys WHERE expires_at_ms <= $1 AND (tenant_id, operation, key) IN (
     SELECT tenant_id, operation, key FROM used_keys
     WHERE expires_at_ms <= $1 ORDER BY expires_at_ms LIMIT ${ROWS_MAX})`,
);
// By their places in the table: whatever the database believes about the number of rows, it looks for them once. It believes that
// a new table has none, and then compared each row with each.
const END_WINDOWS = statement(
  `UPDATE used_keys SET expires_at_ms = 0 WHERE tenant_id = $1 AND expires_at_ms < $2 AND ctid = ANY (ARRAY(
     SELECT ctid FROM used_keys
     WHERE tenant_id = $1 AND expires_at_ms > 0 AND expires_at_ms < $2 LIMIT ${ROWS_MAX}))`,
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

/** A portion of the keys of a tenant; the rows go with the next sweep. True if there may be more. */
export async function endKeyWindows(
  database: Database,
  tenant: TenantId,
  beforeMs: number,
): Promise<boolean> {
  const scope = { role: 'Writer', tenants: [tenant] } as const;
  const ended = await database.inTransaction(scope, (transaction) =>
    transaction.change(END_WINDOWS, [tenant, beforeMs]),
  );
  return ended === ROWS_MAX;
}
