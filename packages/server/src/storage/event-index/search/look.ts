// Looks at events themselves where the index cannot tell whether they are asked for: read from the log, many at a time, and
// judged as this reader sees them.

import type { Question } from '../../../events/event-index.ts';
import { passes } from '../../../query/filters.ts';
import { matches } from '../../../query/matches.ts';
import { type QueriedEvent, seenBy } from '../../../query/queried-event.ts';
import type { Stopping } from './answer.ts';
import type { DocSet } from '../segments/doc-set.ts';
import { indexOf, type Row } from './rows.ts';
import type { Searched } from '../segments/searched.ts';

/** Reads whole events of a tenant's log by their indexes, in order; one that is removed or not there is left out. */
export type ReadEvents = (indexes: readonly number[]) => Promise<{
  readonly events: ReadonlyMap<number, QueriedEvent>;
  /** Of the first of them; the others are too large to be read with these. */
  readonly readCount: number;
}>;

/** How many events are read at once, at the most. */
const PORTION = 500;

/** Reads many events, and holds no more of them than are read at once. */
export async function* eventsInPortions(
  indexes: readonly number[],
  read: ReadEvents,
  deadline: Stopping,
): AsyncGenerator<{
  readonly indexes: readonly number[];
  readonly events: ReadonlyMap<number, QueriedEvent>;
}> {
  for (let from = 0; from < indexes.length; ) {
    deadline.throwIfPassed();
    const { events, readCount } = await read(indexes.slice(from, from + PORTION));
    const end = from + readCount;
    yield { indexes: indexes.slice(from, end), events };
    from = end;
  }
}

export class Looker {
  readonly #read: ReadEvents;
  readonly #question: Pick<Question, 'query' | 'filters' | 'sight'>;
  readonly #deadline: Stopping;
  /** By index, whether an event that was looked at is asked for. */
  readonly #seen = new Map<number, boolean>();

  constructor(read: ReadEvents, question: Pick<Question, 'query' | 'filters' | 'sight'>, deadline: Stopping) {
    this.#read = read;
    this.#question = question;
    this.#deadline = deadline;
  }

  /** Which of these docs are asked for, a portion at a time, in their order. What is sure is not looked at. */
  async *passing(piece: Searched, docs: Uint32Array, sure?: DocSet): AsyncGenerator<number[]> {
    for (let from = 0; from < docs.length; from += PORTION) {
      const portion = [...docs.subarray(from, from + PORTION)];
      const isSure = (doc: number) => sure?.has(doc) ?? false;
      await this.#lookAt(portion.filter((doc) => !isSure(doc)).map((doc) => piece.firstIndex + doc));
      yield portion.filter((doc) => isSure(doc) || this.#seen.get(piece.firstIndex + doc));
    }
  }

  async rowsPassing(rows: readonly Row[]): Promise<ReadonlySet<Row>> {
    await this.#lookAt(rows.map(indexOf));
    return new Set(rows.filter((row) => this.#seen.get(indexOf(row))));
  }

  async #lookAt(indexes: readonly number[]): Promise<void> {
    const unseen = indexes.filter((index) => !this.#seen.has(index));
    const { query, filters, sight } = this.#question;
    for await (const portion of eventsInPortions(unseen, this.#read, this.#deadline))
      for (const index of portion.indexes) {
        const event = portion.events.get(index);
        const seen = event === undefined ? undefined : seenBy(event, sight);
        this.#seen.set(index, seen !== undefined && passes(filters, seen) && matches(query, seen));
      }
  }
}
