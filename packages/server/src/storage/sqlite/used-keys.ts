// Idempotency keys that were used up, each until its window ends. Rows are removed in portions, so that a commit
// never waits for a long sweep.

import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { DraftOutcome, Once } from '../../streams/log.ts';
import { keyAnswer, usedKeyOf } from '../rows/used-key-row.ts';
import { inTransaction } from './database.ts';
import type { KeyAnswer } from '../pool/pool-tables.ts';
import { encodeOutcomes } from '../pool/outcomes.ts';

const SWEEP_ROWS_MAX = 1000;

export class UsedKeys {
  readonly #db: DatabaseSync;
  readonly #find: StatementSync;
  readonly #put: StatementSync;
  readonly #sweep: StatementSync;

  constructor(db: DatabaseSync) {
    this.#db = db;
    this.#find = findUsedKey(db);
    this.#put = db.prepare(
      `INSERT OR REPLACE INTO used_keys (tenant, operation, key, fingerprint, expires_at_ms, note, outcomes)
       VALUES (?, ?, ?, ?, ?, ?, ?)`,
    );
    this.#sweep = db.prepare(
      `DELETE FROM used_keys WHERE (tenant, operation, key) IN
         (SELECT tenant, operation, key FROM used_keys WHERE expires_at_ms <= ? ORDER BY expires_at_ms LIMIT ?)`,
    );
  }

  /** What there is to say to a request whose key was used up before. */
  answer(tenant: number, once: Once | undefined, steadyNowMs: number): KeyAnswer | undefined {
    if (once === undefined) return undefined;
    const used = usedKeyOf(this.#find.get(tenant, once.operation, once.key), steadyNowMs);
    return used === undefined ? undefined : keyAnswer(used, once);
  }

  /** Takes the place of a row that has expired. */
  put(tenant: number, once: Once, outcomes: readonly DraftOutcome[]): void {
    const { operation, key, fingerprint, expiresAtMs, note } = once;
    this.#put.run(tenant, operation, key, fingerprint, expiresAtMs, note, encodeOutcomes(outcomes));
  }

  /** Removes a portion of what has expired; true when there may be more. */
  sweep(steadyNowMs: number): boolean {
    const { changes } = inTransaction(this.#db, () => this.#sweep.run(steadyNowMs, SWEEP_ROWS_MAX));
    return Number(changes) === SWEEP_ROWS_MAX;
  }
}

export function findUsedKey(db: DatabaseSync): StatementSync {
  return db.prepare(
    `SELECT fingerprint, expires_at_ms, note, outcomes FROM used_keys
     WHERE tenant = ? AND operation = ? AND key = ?`,
  );
}
