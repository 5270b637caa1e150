// Counts of a view by the hour: made in memory while a portion of the log is written, added to the table in its commit.

import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { COUNTED } from './schema.ts';

/** One doc, as it is counted: a value for each of COUNTED, 0 for all of them. */
export interface Counting {
  readonly view: number;
  readonly hour: number;
  readonly classification: number;
  readonly kind: number;
  readonly values: Readonly<Record<(typeof COUNTED)[number], number>>;
}

export class CountTally {
  readonly #add: StatementSync;
  #tally = new Map<string, { readonly cell: readonly number[]; count: number }>();

  constructor(db: DatabaseSync) {
    this.#add = db.prepare(
      `INSERT INTO counts (view, counted, hour, classification, kind, value, count) VALUES (?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET count = count + excluded.count`,
    );
  }

  count({ view, hour, classification, kind, values }: Counting): void {
    for (const [place, counted] of COUNTED.entries()) {
      const cell = [view, place, hour, classification, kind, values[counted]];
      const name = cell.join(' ');
      const known = this.#tally.get(name);
      if (known === undefined) this.#tally.set(name, { cell, count: 1 });
      else known.count += 1;
    }
  }

  /** Inside the commit. */
  write(): void {
    for (const { cell, count } of this.#tally.values()) this.#add.run(...cell, count);
    this.forget();
  }

  forget(): void {
    this.#tally = new Map();
  }
}
