// The write-ahead log of a database: the size of its unfolded part, and the folding itself. SQLite would fold inside a
// commit, while a caller waits; the owner of the connection does it in between.

import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { numberOf } from '../../rows/columns.ts';

/** The file of an unusually long log is truncated to this size. */
const FILE_BYTES_KEPT_MAX = 64 * 1024 * 1024;
const READERS_WAIT_MS = 100;

export class WriteAheadLog {
  readonly #db: DatabaseSync;
  readonly #look: StatementSync;
  readonly #fold: StatementSync;
  /** Beyond this size, the fold waits for blocking readers, and again whenever the log has doubled. */
  readonly #pagesMax: number;
  #waitAtPages: number;

  constructor(db: DatabaseSync) {
    this.#db = db;
    this.#pagesMax = FILE_BYTES_KEPT_MAX / numberOf(db.prepare('PRAGMA page_size').get(), 'page_size');
    this.#waitAtPages = this.#pagesMax;
    db.exec(`PRAGMA wal_autocheckpoint = 0; PRAGMA journal_size_limit = ${FILE_BYTES_KEPT_MAX}`);
    this.#look = db.prepare('PRAGMA wal_checkpoint(NOOP)');
    this.#fold = db.prepare('PRAGMA wal_checkpoint(PASSIVE)');
  }

  unfoldedPages(): number {
    const row = this.#look.get();
    return numberOf(row, 'log') - numberOf(row, 'checkpointed');
  }

  /** Folds all pages that no reader blocks; the others follow later. */
  fold(): void {
    const pages = numberOf(this.#fold.get(), 'log');
    if (pages <= this.#pagesMax) this.#waitAtPages = this.#pagesMax;
    else if (pages > this.#waitAtPages) this.#foldWaiting(pages);
  }

  #foldWaiting(pages: number): void {
    this.#waitAtPages = 2 * pages;
    const { timeout } = this.#db.prepare('PRAGMA busy_timeout').get() ?? {};
    this.#db.exec(`PRAGMA busy_timeout = ${READERS_WAIT_MS}`);
    this.#db.exec('PRAGMA wal_checkpoint(RESTART)');
    this.#db.exec(`PRAGMA busy_timeout = ${String(timeout)}`);
  }
}
