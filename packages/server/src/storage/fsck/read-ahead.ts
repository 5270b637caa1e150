// Rows that are needed one after the other and read in advance, so that the caller does not wait in the middle of its
// work.

import { type Awaitable, awaited, type Resumable } from '../resumable.ts';

/** The number of rows per statement. */
const PORTION = 512;

export class ReadAhead<T> {
  readonly #read: (after: T | undefined, limit: number) => Awaitable<readonly T[]>;
  #rows: readonly T[] = [];
  #at = 0;
  #isAll = false;

  /** `read` returns `limit` rows after a given one, fewer only at the end. */
  constructor(read: (after: T | undefined, limit: number) => Awaitable<readonly T[]>) {
    this.#read = read;
  }

  /** Makes at least `count` more rows available, or all that are left. */
  *have(count: number): Resumable<void> {
    while (!this.#isAll && this.#rows.length - this.#at < count) {
      const found = yield* awaited(this.#read(this.#rows.at(-1), PORTION));
      this.#isAll = found.length < PORTION;
      this.#rows = [...this.#rows.slice(this.#at), ...found];
      this.#at = 0;
    }
  }

  /** The row that is taken next. */
  get next(): T | undefined {
    return this.#rows[this.#at];
  }

  take(): T | undefined {
    return this.#rows[this.#at++];
  }
}
