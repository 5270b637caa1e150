// Work that is done one after the other, if it has the same name.

export class Turns {
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
