// Counts of a view, made in memory while a portion of the log is written. Each event is counted in its hour, its day, its
// month and altogether, so that a long time takes as few rows as a short one; its actor from the day on. A view is told
// apart by V; what is counted is a number, or whatever else the database counts by.

import { COUNTED, type Counted, type Span } from './index-columns.ts';
import { dayOf, monthOf } from './time-span.ts';

/** One doc, as it is counted: a value for each of COUNTED, anything for all of them. */
export interface Counting<V> {
  readonly view: number;
  readonly hour: number;
  readonly classification: number;
  readonly kind: number;
  readonly values: Readonly<Record<Counted, V>>;
}

/** What a portion adds to one span of time. */
export interface Tally<V> {
  readonly view: number;
  readonly span: Span;
  readonly time: number;
  readonly classification: number;
  readonly kind: number;
  /** By the place in COUNTED: how often each value was there. */
  readonly counts: readonly Map<V, number>[];
}

/** Those of the portion in hours; the longer spans are made of them when they are taken. */
export class CountTally<V> {
  readonly #hours = new Map<string, Tally<V>>();
  /** Many events have the hour and the class of the one before. */
  #last: Tally<V> | undefined;

  count(counting: Counting<V>): void {
    const tally = this.#hourOf(counting);
    for (let place = 0; place < COUNTED.length; place++)
      increase(tally.counts[place]!, counting.values[COUNTED[place]!], 1);
  }

  /** All of them, with the place in COUNTED; then there are none. */
  take(visit: (tally: Tally<V>, place: number, counts: ReadonlyMap<V, number>) => void): void {
    for (const tally of [...this.#hours.values(), ...longerSpans(this.#hours.values())])
      for (const [place, counts] of tally.counts.entries())
        if (isCounted(COUNTED[place]!, tally.span)) visit(tally, place, counts);
    this.forget();
  }

  forget(): void {
    this.#hours.clear();
    this.#last = undefined;
  }

  #hourOf({ view, hour, classification, kind }: Counting<V>): Tally<V> {
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
}

/** Nearly every event of an hour has another actor: it would take as many rows as there are events. */
function isCounted(counted: Counted, span: Span): boolean {
  return counted !== 'actor' || span !== 'hour';
}

function longerSpans<V>(hours: Iterable<Tally<V>>): Iterable<Tally<V>> {
  const tallies = new Map<string, Tally<V>>();
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

function tallyIn<V>(tallies: Map<string, Tally<V>>, cell: Omit<Tally<V>, 'counts'>): Tally<V> {
  const name = `${cell.view} ${cell.span} ${cell.time} ${cell.classification} ${cell.kind}`;
  let tally = tallies.get(name);
  if (tally === undefined) {
    tally = { ...cell, counts: COUNTED.map(() => new Map<V, number>()) };
    tallies.set(name, tally);
  }
  return tally;
}

function increase<V>(counts: Map<V, number>, value: V, by: number): void {
  counts.set(value, (counts.get(value) ?? 0) + by);
}
