// The counts of a portion, added to the table in its commit.

import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { type Counting, CountTally } from '../../event-index/count-tally.ts';
import { SPANS } from '../../event-index/index-columns.ts';

export class Counts {
  readonly #add: StatementSync;
  readonly #tally = new CountTally<number>();

  constructor(db: DatabaseSync) {
    this.#add = db.prepare(
      `INSERT INTO counts (view, span, time, classification, kind, counted, value, count)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET count = count + excluded.count`,
    );
  }

  /** Of all of them the value is 0. */
  count(counting: Counting<number>): void {
    this.#tally.count(counting);
  }

  /** Inside the commit. */
  write(): void {
    this.#tally.take(({ view, span, time, classification, kind }, place, counts) => {
      const spanPlace = SPANS.indexOf(span);
      for (const [value, count] of counts)
        this.#add.run(view, spanPlace, time, classification, kind, place, value, count);
    });
  }

  forget(): void {
    this.#tally.forget();
  }
}
