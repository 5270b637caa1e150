// A thread that is started for the first work, and kept: many services never need it.

import type { ThreadHandle } from './thread.ts';

export class ThreadOnDemand<Message> implements AsyncDisposable {
  readonly #start: () => ThreadHandle<Message>;
  #thread: ThreadHandle<Message> | undefined;

  constructor(start: () => ThreadHandle<Message>) {
    this.#start = start;
  }

  /** One that could not open is not kept: the next call tries again. */
  async started(): Promise<ThreadHandle<Message>> {
    const thread = (this.#thread ??= this.#start());
    try {
      await thread.opened;
      return thread;
    } catch (error) {
      if (this.#thread === thread) this.#thread = undefined;
      throw error;
    }
  }

  /** It has died: the next call starts another one. */
  forget(): void {
    this.#thread = undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#thread?.[Symbol.asyncDispose]();
  }
}
