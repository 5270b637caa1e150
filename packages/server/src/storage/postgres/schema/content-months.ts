// The months of expiry for which there are partitions of contents (content-partitions.ts), as far as this process knows. The
// month is known once an entry has its time, on a locked log. A partition is created without such a lock, so the
// writer releases its logs first.

import { contentMonthOf } from '../../rows/content-month.ts';
import { type Database, statement } from '../connection/database.ts';

const ENSURE_MONTHS = statement('SELECT ensure_content_month(month) FROM unnest($1::integer[]) AS month');

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
    const missing = [...new Set(months).difference(this.#known)];
    if (missing.length === 0) return;
    await this.#database.inTransaction({ role: 'Writer', tenants: [] }, (t) =>
      t.query(ENSURE_MONTHS, [missing]),
    );
    for (const month of missing) this.#known.add(month);
  }

  /** A restored database may lack some of them. */
  forget(): void {
    this.#known.clear();
  }
}
