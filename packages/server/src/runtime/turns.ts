// Queues for asynchronous work. One runs work of the same name in order; one runs all work one at a time and goes round the
// callers, so that a caller with much work delays itself and not the others; one runs so many pieces at a time.

/** Runs work of the same name one after the other. */
export class KeyedQueue {
  /** By name, the end of the newest work. */
  readonly #last = new Map<string, Promise<unknown>>();

  take<T>(name: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(name);
    const turn = before === undefined ? work() : before.then(work);
    const forget = () => this.#forget(name, ended);
    const ended: Promise<void> = turn.then(forget, forget);
    this.#last.set(name, ended);
    return turn;
  }

  #forget(name: string, ended: Promise<unknown>): void {
    if (this.#last.get(name) === ended) this.#last.delete(name);
  }
}

/** Runs one piece of work at a time; callers that wait come in turn. */
export class FairQueue {
  /** By caller; the first is the next. */
  readonly #waiting = new Map<string, (() => void)[]>();
  #isTaken = false;

  async take<T>(who: string, work: () => Promise<T>): Promise<T> {
    if (this.#isTaken) await new Promise<void>((begin) => this.#wait(who, begin));
    this.#isTaken = true;
    try {
      return await work();
    } finally {
      this.#handOn();
    }
  }

  #wait(who: string, begin: () => void): void {
    const queue = this.#waiting.get(who);
    if (queue === undefined) this.#waiting.set(who, [begin]);
    else queue.push(begin);
  }

  /** The turn stays taken while it is handed on, so that a new caller cannot slip in. */
  #handOn(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#isTaken = false;
      return;
    }
    const [who, [begin, ...others]] = next;
    this.#waiting.delete(who);
    if (others.length > 0) this.#waiting.set(who, others);
    begin!();
  }
}

/** Runs so many pieces of work at a time, in the order in which they come. */
export class Turns {
  readonly #waiting: (() => void)[] = [];
  #free: number;

  constructor(atOnceMax: number) {
    this.#free = atOnceMax;
  }

  async take<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free === 0) await new Promise<void>((begin) => this.#waiting.push(begin));
    else this.#free -= 1;
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free += 1;
      else next();
    }
  }
}
