// Used idempotency keys, each until its window ends. Rows are added in the order of time, found by a map in memory, and moved
// into the order of keys many at a time, a step at a time: neither a commit nor the next one waits for long. Rows are removed
// in portions, too.

import type { DatabaseSync, SQLOutputValue, StatementSync } from 'node:sqlite';
import type { TenantId } from '@tallystick/contract';
import type { DraftOutcome, Once, UsedIdempotencyKey } from '../../../streams/log.ts';
import { CLASSIFICATIONS } from '../../rows/classification-column.ts';
import { numberOf, textIn } from '../../rows/columns.ts';
import { usedKeyOf } from '../../rows/used-key-row.ts';
import { inTransaction } from '../connection/database.ts';
import { encodeOutcomes } from '../../pool/outcomes.ts';

const SWEEP_ROWS_MAX = 1000;
/** So many wait to be moved together: some megabytes of the map. */
const RECENT_MAX = 32_768;
/** At once: some ten milliseconds. */
const MOVED_MAX = 1024;

const KEY_COLUMNS = 'tenant, operation, key, fingerprint, classification, expires_at_ms, note, outcomes';

type Row = Readonly<Record<string, SQLOutputValue>>;

/** Where rows of keys are; for one connection. */
export class StoredKeys {
  readonly #sorted: StatementSync;
  readonly #bounds: StatementSync;
  readonly #newer: StatementSync;
  readonly #recent: StatementSync;
  /** The newest row of each. */
  readonly #ids = new Map<string, number>();
  #first = 0;
  #last = 0;

  constructor(db: DatabaseSync) {
    this.#sorted = db.prepare(
      `SELECT ${KEY_COLUMNS} FROM used_keys WHERE tenant = ? AND operation = ? AND key = ?`,
    );
    this.#bounds = db.prepare(
      'SELECT (SELECT min(id) FROM recent_keys) AS first, (SELECT max(id) FROM recent_keys) AS last',
    );
    this.#newer = db.prepare('SELECT id, tenant, operation, key FROM recent_keys WHERE id > ?');
    this.#recent = db.prepare(`SELECT ${KEY_COLUMNS} FROM recent_keys WHERE id = ?`);
  }

  find(tenant: number, operation: string, key: string): Row | undefined {
    this.#follow();
    const id = this.#ids.get(nameOf(tenant, operation, key));
    // One that was moved since is there.
    return (id && this.#recent.get(id)) || this.#sorted.get(tenant, operation, key);
  }

  /** How many rows there are in the order of time, or a few more. */
  get recentCount(): number {
    return this.#last - this.#first;
  }

  /** The rows before the newest, in the order of their keys; of a key the last row alone. */
  recentInOrder(): { readonly ids: number[]; readonly newest: number } {
    this.#follow();
    const newest = this.#last;
    const sorted = [...this.#ids].sort(([a], [b]) => (a < b ? -1 : 1));
    return { ids: sorted.map(([, id]) => id).filter((id) => id !== newest), newest };
  }

  /** Reads what was added since, by whomever, and forgets what was moved. */
  #follow(): void {
    const bounds = this.#bounds.get();
    if (bounds === undefined || bounds['last'] === null) return;
    const [first, last] = [numberOf(bounds, 'first'), numberOf(bounds, 'last')];
    if (first !== this.#first) {
      for (const [name, id] of this.#ids) if (id < first) this.#ids.delete(name);
      this.#first = first;
    }
    if (last <= this.#last) return;
    for (const row of this.#newer.all(this.#last))
      this.#ids.set(
        nameOf(numberOf(row, 'tenant'), textIn(row, 'operation'), textIn(row, 'key')),
        numberOf(row, 'id'),
      );
    this.#last = last;
  }
}

export class UsedIdempotencyKeys {
  readonly #db: DatabaseSync;
  readonly #stored: StoredKeys;
  readonly #put: StatementSync;
  readonly #move: StatementSync;
  readonly #forget: StatementSync;
  readonly #sweep: StatementSync;
  readonly #sweepRecent: StatementSync;
  /** Rows that are to be moved, in the order of their keys, and the last of them in the order of time. */
  #moving: { readonly ids: readonly number[]; readonly last: number; next: number } | undefined;

  constructor(db: DatabaseSync) {
    this.#db = db;
    this.#stored = new StoredKeys(db);
    this.#put = db.prepare(`INSERT INTO recent_keys (${KEY_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`);
    this.#move = db.prepare(
      `INSERT OR REPLACE INTO used_keys (${KEY_COLUMNS}) SELECT ${KEY_COLUMNS} FROM recent_keys WHERE id = ?`,
    );
    this.#forget = db.prepare(
      'DELETE FROM recent_keys WHERE id IN (SELECT id FROM recent_keys WHERE id <= ? LIMIT ?)',
    );
    this.#sweepRecent = db.prepare(
      `DELETE FROM recent_keys WHERE id IN (SELECT id FROM recent_keys
         WHERE expires_at_ms <= ? AND id < (SELECT max(id) FROM recent_keys) LIMIT ?)`,
    );
    this.#sweep = db.prepare(
      `DELETE FROM used_keys WHERE (tenant, operation, key) IN
         (SELECT tenant, operation, key FROM used_keys WHERE expires_at_ms <= ? ORDER BY expires_at_ms LIMIT ?)`,
    );
  }

  find(tenant: number, { operation, key }: Once, steadyNowMs: number): UsedIdempotencyKey | undefined {
    return usedKeyOf(this.#stored.find(tenant, operation, key), steadyNowMs);
  }

  /** It takes the place of one that has expired. */
  put(tenant: number, once: Once, outcomes: readonly DraftOutcome[]): void {
    const { operation, key, fingerprint, expiresAtMs, note } = once;
    const classification = CLASSIFICATIONS.indexOf(once.classification);
    const answer = [expiresAtMs, note, encodeOutcomes(outcomes)];
    this.#put.run(tenant, operation, key, fingerprint, classification, ...answer);
  }

  /** A step of moving rows into the order of keys, if there are many; true if there are more steps. */
  moveSome(): boolean {
    if (this.#moving === undefined && this.#stored.recentCount >= RECENT_MAX) {
      // The newest row stays, so that no later one gets its number.
      const { ids, newest } = this.#stored.recentInOrder();
      this.#moving = { ids, last: newest - 1, next: 0 };
    }
    const moving = this.#moving;
    if (moving === undefined) return false;
    inTransaction(this.#db, () => {
      const some = moving.ids.slice(moving.next, moving.next + MOVED_MAX);
      for (const id of some) this.#move.run(id);
      moving.next += some.length;
      const isMoved = moving.next >= moving.ids.length;
      const isGone = isMoved && Number(this.#forget.run(moving.last, MOVED_MAX).changes) < MOVED_MAX;
      if (isGone) this.#moving = undefined;
    });
    return this.#moving !== undefined;
  }

  /** Removes a portion of the expired rows; true if there may be more. */
  sweep(steadyNowMs: number): boolean {
    return inTransaction(this.#db, () => {
      const swept = [this.#sweep, this.#sweepRecent].map((each) => each.run(steadyNowMs, SWEEP_ROWS_MAX));
      return swept.some(({ changes }) => Number(changes) === SWEEP_ROWS_MAX);
    });
  }
}

/** A portion of the keys of a tenant; the rows go with the next sweep. True if there may be more. */
export function endKeyWindows(db: DatabaseSync, tenantId: TenantId, beforeMs: number): boolean {
  return inTransaction(db, () =>
    [
      ['used_keys', '(tenant, operation, key)', 'tenant, operation, key'],
      ['recent_keys', 'id', 'id'],
    ]
      .map(([table, key, columns]) =>
        db
          .prepare(
            `UPDATE ${table} SET expires_at_ms = 0 WHERE ${key} IN (SELECT ${columns} FROM ${table}
             WHERE tenant = (SELECT tenant FROM tenants WHERE tenant_id = ?) AND expires_at_ms > 0 AND expires_at_ms < ? LIMIT ?)`,
          )
          .run(tenantId, beforeMs, SWEEP_ROWS_MAX),
      )
      .some(({ changes }) => Number(changes) === SWEEP_ROWS_MAX),
  );
}

function nameOf(tenant: number, operation: string, key: string): string {
  return `${tenant} ${operation} ${key}`;
}
