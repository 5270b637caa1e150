// Used idempotency keys, each until its window ends. Rows are removed in portions, so that a commit never waits for a
// long sweep.

import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { DraftOutcome, Once, UsedIdempotencyKey } from '../../../streams/log.ts';
import { CLASSIFICATIONS } from '../../rows/classification-column.ts';
import { usedKeyOf } from '../../rows/used-key-row.ts';
import { inTransaction } from '../connection/database.ts';
import { encodeOutcomes } from '../../pool/outcomes.ts';

const SWEEP_ROWS_MAX = 1000;

export class UsedIdempotencyKeys {
  readonly #db: DatabaseSync;
  readonly #find: StatementSync;
  readonly #put: StatementSync;
  readonly #sweep: StatementSync;

  constructor(db: DatabaseSync) {
    this.#db = db;
    this.#find = findUsedKey(db);
    this.#put = db.prepare(
      `INSERT OR REPLACE INTO used_keys
         (tenant, operation, key, fingerprint, classification, expires_at_ms, note, outcomes)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    this.#sweep = db.prepare(
      `DELETE FROM used_keys WHERE (tenant, operation, key) IN
         (SELECT tenant, operation, key FROM used_keys WHERE expires_at_ms <= ? ORDER BY expires_at_ms LIMIT ?)`,
    );
  }

  find(tenant: number, { operation, key }: Once, steadyNowMs: number): UsedIdempotencyKey | undefined {
    return usedKeyOf(this.#find.get(tenant, operation, key), steadyNowMs);
  }

  /** Replaces a row that has expired. */
  put(tenant: number, once: Once, outcomes: readonly DraftOutcome[]): void {
    const { operation, key, fingerprint, expiresAtMs, note } = once;
    const classification = CLASSIFICATIONS.indexOf(once.classification);
    const answer = [expiresAtMs, note, encodeOutcomes(outcomes)];
    this.#put.run(tenant, operation, key, fingerprint, classification, ...answer);
  }

  /** Removes a portion of the expired rows; true if there may be more. */
  sweep(steadyNowMs: number): boolean {
    const { changes } = inTransaction(this.#db, () => this.#sweep.run(steadyNowMs, SWEEP_ROWS_MAX));
    return Number(changes) === SWEEP_ROWS_MAX;
  }
}

export function findUsedKey(db: DatabaseSync): StatementSync {
  return db.prepare(
    `SELECT fingerprint, classification, expires_at_ms, note, outcomes FROM used_keys
     WHERE tenant = ? AND operation = ? AND key = ?`,
  );
}
