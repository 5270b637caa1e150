// Counts of a view: made in memory while a portion of the log is written, added to the table in its commit. Each event is
// counted in its hour, its day, its month and altogether, so that a long time takes as few rows as a short one; its actor
// from the day on.

import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { COUNTED, type Counted, SPANS } from './schema.ts';
import { dayOf, monthOf } from './time-span.ts';

/** One doc, as it is counted: a value for each of COUNTED, 0 for all of them. */
export interface Counting {
  readonly view: number;
  readonly hour: number;
  readonly classification: number;
  readonly kind: number;
  readonly values: Readonly<Record<Counted, number>>;
}

/** What a portion adds to one span of time. */
interface Tally {
  /** View, span, time, classification, kind. */
  readonly cell: readonly [number, number, number, number, number];
  /** By the place in COUNTED, then by value; none for what is not counted in such a span. */
  readonly counts: readonly (Map<number, number> | undefined)[];
}

export class CountTally {
  readonly #add: StatementSync;
  #tallies = new Map<string, readonly Tally[]>();

  constructor(db: DatabaseSync) {
    this.#add = db.prepare(
      `INSERT INTO counts (view, span, time, classification, kind, counted, value, count)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET count = count + excluded.count`,
    );
  }

  count({ view, hour, classification, kind, values }: Counting): void {
    const name = `${view} ${hour} ${classification} ${kind}`;
    let tallies = this.#tallies.get(name);
    if (tallies === undefined) {
      tallies = this.#talliesOf(view, hour, classification, kind);
      this.#tallies.set(name, tallies);
    }
    for (const { counts } of tallies) {
      for (let place = 0; place < COUNTED.length; place++) {
        const value = values[COUNTED[place]!];
        const own = counts[place];
        own?.set(value, (own.get(value) ?? 0) + 1);
      }
    }
  }

  /** Inside the commit. */
  write(): void {
    const written = new Set<Tally>();
    for (const tally of [...this.#tallies.values()].flat()) {
      if (written.has(tally)) continue;
      written.add(tally);
      for (const [counted, counts] of tally.counts.entries())
        for (const [value, count] of counts ?? []) this.#add.run(...tally.cell, counted, value, count);
    }
    this.forget();
  }

  forget(): void {
    this.#tallies = new Map();
    this.#shared.clear();
  }

  /** Those of a longer span are shared by the hours in it. */
  readonly #shared = new Map<string, Tally>();

  #talliesOf(view: number, hour: number, classification: number, kind: number): readonly Tally[] {
    const times = { ever: 0, month: monthOf(hour), day: dayOf(hour), hour };
    return SPANS.map((span, place) => {
      const cell = [view, place, times[span], classification, kind] as const;
      const name = cell.join(' ');
      let tally = this.#shared.get(name);
      if (tally === undefined) {
        // Nearly every event of an hour has another actor: it would take as many rows as there are events.
        const isCounted = (counted: Counted) => counted !== 'actor' || span !== 'hour';
        tally = {
          cell,
          counts: COUNTED.map((each) => (isCounted(each) ? new Map<number, number>() : undefined)),
        };
        this.#shared.set(name, tally);
      }
      return tally;
    });
  }
}
