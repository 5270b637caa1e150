// How a search is stopped while it runs: SQLite cannot be interrupted from here, so its statements ask every thousandth
// row whether to stop, and throw if so. Another thread sets the flag.

import type { DatabaseSync } from 'node:sqlite';

/** The error of a stopped search; by then no caller waits for it. */
export class Stopped extends Error {
  constructor() {
    super('the search was stopped');
  }
}

/** Goes into a statement over docs or words: `row` is the number of its row. */
export function whileAlive(row: string): string {
  return `((${row} & 1023) <> 0 OR alive())`;
}

/** Anything but zero stops the search that was given it. */
export type StopFlag = Int32Array;

export class Alive {
  #flag: StopFlag | undefined;

  /** Lets the statements of a connection ask. */
  constructor(db: DatabaseSync) {
    db.function('alive', () => {
      this.check();
      return 1;
    });
  }

  /** For the search that runs next. */
  watch(flag: StopFlag | undefined): void {
    this.#flag = flag;
  }

  check(): void {
    if (this.#flag !== undefined && Atomics.load(this.#flag, 0) !== 0) throw new Stopped();
  }
}
