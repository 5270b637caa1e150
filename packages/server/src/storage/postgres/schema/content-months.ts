// The partitions of contents, one for each month of expiry: which of them exist, and how they are created. The month is
// known once an entry has its time, on a locked log. A partition is created without such a lock, so the writer releases
// its logs first.

import { contentMonthOf } from '../../rows/content-month.ts';
import { type Database, statement } from '../connection/database.ts';

const ENSURE_MONTH = statement('SELECT ensure_content_month($1)');

/** Rows cannot be written before their partitions are created. */
export class MissingMonths extends Error {
  readonly months: Iterable<number>;

  constructor(months: Iterable<number>) {
    super(`there may be no partitions for the months ${[...months].join()}`);
    this.months = months;
  }
}

export class ContentMonths {
  readonly #database: Database;
  readonly #known = new Set<number>([contentMonthOf(undefined)]);

  constructor(database: Database) {
    this.#database = database;
  }

  hasAll(months: ReadonlySet<number>): boolean {
    return months.isSubsetOf(this.#known);
  }

  async ensure(months: Iterable<number>): Promise<void> {
    for (const month of new Set(months).difference(this.#known)) {
      await this.#database.inTransaction({ role: 'Writer', tenants: [] }, (t) =>
        t.query(ENSURE_MONTH, [month]),
      );
      this.#known.add(month);
    }
  }

  /** A restored database may lack some of them. */
  forget(): void {
    this.#known.clear();
  }
}
