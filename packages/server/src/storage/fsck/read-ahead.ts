// Rows that are met one after the other, and are read before: so whoever meets them need not wait in the middle of its work.

import { type Awaitable, awaited, type Resumable } from '../answers.ts';

/** As many at once as are worth a statement. */
const PORTION = 512;

export class ReadAhead<T> {
  readonly #read: (after: T | undefined, limit: number) => Awaitable<readonly T[]>;
  #rows: readonly T[] = [];
  #at = 0;
  #isAll = false;

  /** `read` gives as many as it is asked for behind one, fewer only at the end. */
  constructor(read: (after: T | undefined, limit: number) => Awaitable<readonly T[]>) {
    this.#read = read;
  }

  /** So many more can be taken now, or all that there are. */
  *have(count: number): Resumable<void> {
    while (!this.#isAll && this.#rows.length - this.#at < count) {
      const found = yield* awaited(this.#read(this.#rows.at(-1), PORTION));
      this.#isAll = found.length < PORTION;
      this.#rows = [...this.#rows.slice(this.#at), ...found];
      this.#at = 0;
    }
  }

  /** The one that is taken next. */
  get next(): T | undefined {
    return this.#rows[this.#at];
  }

  take(): T | undefined {
    return this.#rows[this.#at++];
  }
}
