// A thread that is started for the first work, and kept: many services never need it.

import type { CallMessage } from './calls.ts';
import type { ThreadHandle } from './thread.ts';

export class ThreadOnDemand implements AsyncDisposable {
  readonly #start: () => ThreadHandle<CallMessage>;
  #thread: ThreadHandle<CallMessage> | undefined;

  constructor(start: () => ThreadHandle<CallMessage>) {
    this.#start = start;
  }

  /** One that could not open is not kept: the next call tries again. */
  async started(): Promise<ThreadHandle<CallMessage>> {
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
