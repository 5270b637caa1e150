// Counts of a view: made in memory while a portion of the log is written, added to the table in its commit. Each event is
// counted in its hour, its day, its month and altogether, so that a long time takes as few rows as a short one; its actor
// from the day on.

import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { COUNTED, type Counted, type Span, SPANS } from './schema.ts';
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
  readonly view: number;
  readonly span: Span;
  readonly time: number;
  readonly classification: number;
  readonly kind: number;
  /** By the place in COUNTED: how often each value was there. */
  readonly counts: readonly Map<number, number>[];
}

/** Those of the portion in hours; the longer spans are made of them when they are written. */
export class CountTally {
  readonly #add: StatementSync;
  readonly #hours = new Map<string, Tally>();
  /** Many events have the hour and the class of the one before. */
  #last: Tally | undefined;

  constructor(db: DatabaseSync) {
    this.#add = db.prepare(
      `INSERT INTO counts (view, span, time, classification, kind, counted, value, count)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET count = count + excluded.count`,
    );
  }

  count(counting: Counting): void {
    const tally = this.#hourOf(counting);
    for (let place = 0; place < COUNTED.length; place++)
      increase(tally.counts[place]!, counting.values[COUNTED[place]!], 1);
  }

  /** Inside the commit. */
  write(): void {
    for (const tally of [...this.#hours.values(), ...longerSpans(this.#hours.values())])
      for (const [place, counts] of tally.counts.entries())
        if (isCounted(COUNTED[place]!, tally.span)) this.#write(tally, place, counts);
    this.forget();
  }

  forget(): void {
    this.#hours.clear();
    this.#last = undefined;
  }

  #hourOf({ view, hour, classification, kind }: Counting): Tally {
    const last = this.#last;
    const isLast =
      last?.time === hour &&
      last.classification === classification &&
      last.view === view &&
      last.kind === kind;
    if (isLast) return last;
    const cell = { view, span: 'hour', time: hour, classification, kind } as const;
    return (this.#last = tallyIn(this.#hours, cell));
  }

  #write({ view, span, time, classification, kind }: Tally, place: number, counts: Tally['counts'][0]): void {
    const spanPlace = SPANS.indexOf(span);
    for (const [value, count] of counts)
      this.#add.run(view, spanPlace, time, classification, kind, place, value, count);
  }
}

/** Nearly every event of an hour has another actor: it would take as many rows as there are events. */
function isCounted(counted: Counted, span: Span): boolean {
  return counted !== 'actor' || span !== 'hour';
}

function longerSpans(hours: Iterable<Tally>): Iterable<Tally> {
  const tallies = new Map<string, Tally>();
  for (const { time: hour, counts, ...cell } of hours) {
    const times = { ever: 0, month: monthOf(hour), day: dayOf(hour) };
    for (const [span, time] of Object.entries(times) as [keyof typeof times, number][]) {
      const longer = tallyIn(tallies, { ...cell, span, time });
      for (let place = 0; place < counts.length; place++)
        for (const [value, count] of counts[place]!) increase(longer.counts[place]!, value, count);
    }
  }
  return tallies.values();
}

function tallyIn(tallies: Map<string, Tally>, cell: Omit<Tally, 'counts'>): Tally {
  const name = `${cell.view} ${cell.span} ${cell.time} ${cell.classification} ${cell.kind}`;
  let tally = tallies.get(name);
  if (tally === undefined) {
    tally = { ...cell, counts: COUNTED.map(() => new Map<number, number>()) };
    tallies.set(name, tally);
  }
  return tally;
}

function increase(counts: Map<number, number>, value: number, by: number): void {
  counts.set(value, (counts.get(value) ?? 0) + by);
}
