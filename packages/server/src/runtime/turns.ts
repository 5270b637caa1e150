// Whose turn it is. Work on one and the same thing is done in the order in which it was asked for; work on something that
// all share goes round those who ask, so that one who asks for much waits for itself and the others do not.

/** One after the other, if it has the same name. */
export class KeyedQueue {
  /** By name, what the next one waits for. */
  readonly #last = new Map<string, Promise<unknown>>();

  take<T>(name: string, work: () => Promise<T>): Promise<T> {
    const turn = this.#after(this.#last.get(name), work);
    const ended = turn.catch(() => {}).finally(() => this.#forget(name, ended));
    this.#last.set(name, ended);
    return turn;
  }

  async #after<T>(before: Promise<unknown> | undefined, work: () => Promise<T>): Promise<T> {
    await before;
    return work();
  }

  #forget(name: string, ended: Promise<unknown>): void {
    if (this.#last.get(name) === ended) this.#last.delete(name);
  }
}

/** One at a time; those that wait come in turn. */
export class FairQueue {
  /** By who asked; the first is the next. */
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

  /** The turn stays taken while it is handed on: one who comes right now must not slip in. */
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
