// Events that could not be indexed: kept beside the views with the reason, so that they can be looked at and tried again,
// and so that one of them does not hold up all others.

import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { LIMITS } from '@tallystick/contract';
import type { HeldLetter } from '../../../admin/dead-letters.ts';
import type { RowsWish } from '../../../paging.ts';
import { numberOf, textIn } from '../../rows/columns.ts';
import { LAST_ID } from '../../rows/last-id.ts';

/** An event that was passed over. */
export interface IndexLetter extends HeldLetter {
  /** Its row in journal.db. */
  readonly entry: number;
}

export interface FailedEvent {
  readonly tenant: number;
  readonly entry: number;
  readonly reason: string;
  /** How often it was tried this time. */
  readonly attempts: number;
  readonly nowMs: number;
}

export class DeadLetters {
  readonly #add: StatementSync;
  readonly #before: StatementSync;
  readonly #after: StatementSync;
  readonly #find: StatementSync;
  readonly #count: StatementSync;
  readonly #countOfAll: StatementSync;
  readonly #remove: StatementSync;
  readonly #removeExpired: StatementSync;
  readonly #nextId: () => string;

  constructor(db: DatabaseSync, nextId: () => string) {
    this.#nextId = nextId;
    this.#add = db.prepare(
      `INSERT INTO dead_letters (message_id, tenant, entry, reason, attempts, first_failed_ms, last_failed_ms)
       VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6)
       ON CONFLICT (entry) DO UPDATE SET reason = excluded.reason, attempts = attempts + excluded.attempts,
         last_failed_ms = excluded.last_failed_ms`,
    );
    const select = 'SELECT * FROM dead_letters WHERE tenant = ?';
    this.#before = db.prepare(`${select} AND message_id < ? ORDER BY message_id DESC LIMIT ?`);
    this.#after = db.prepare(`${select} AND message_id > ? ORDER BY message_id LIMIT ?`);
    this.#find = db.prepare(`${select} AND message_id = ?`);
    this.#count = db.prepare('SELECT count(*) AS count FROM dead_letters WHERE tenant = ?');
    this.#countOfAll = db.prepare('SELECT count(*) AS count FROM dead_letters');
    this.#remove = db.prepare('DELETE FROM dead_letters WHERE entry = ?');
    this.#removeExpired = db.prepare('DELETE FROM dead_letters WHERE last_failed_ms <= ?');
  }

  /** One that is there already has failed again. */
  add({ tenant, entry, reason, attempts, nowMs }: FailedEvent): void {
    this.#add.run(this.#nextId(), tenant, entry, reason, attempts, nowMs);
  }

  list(tenant: number, { way, beyond, limit }: RowsWish): IndexLetter[] {
    return way === 'Falling'
      ? this.#before.all(tenant, beyond ?? LAST_ID, limit).map(letterIn)
      : this.#after.all(tenant, beyond ?? '', limit).map(letterIn);
  }

  find(tenant: number, messageId: string): IndexLetter | undefined {
    const row = this.#find.get(tenant, messageId);
    return row === undefined ? undefined : letterIn(row);
  }

  count(tenant: number): number {
    return numberOf(this.#count.get(tenant), 'count');
  }

  countOfAll(): number {
    return numberOf(this.#countOfAll.get(), 'count');
  }

  /** It is in the index now. */
  remove(entry: number): void {
    this.#remove.run(entry);
  }

  /** Those whose time is over, as `expiresAt` has promised. */
  removeExpired(nowMs: number): void {
    this.#removeExpired.run(nowMs - LIMITS.deadLetterLifetimeMs);
  }
}

function letterIn(row: Readonly<Record<string, unknown>>): IndexLetter {
  return {
    messageId: textIn(row, 'message_id'),
    entry: numberOf(row, 'entry'),
    reason: textIn(row, 'reason'),
    attempts: numberOf(row, 'attempts'),
    firstFailedAtMs: numberOf(row, 'first_failed_ms'),
    lastFailedAtMs: numberOf(row, 'last_failed_ms'),
  };
}
