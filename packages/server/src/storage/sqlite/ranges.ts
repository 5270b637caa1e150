// Ranges that are recomputed on request, main's side: a thread that is started for the first one and stays.

import type { RangeVerdict, RangeWish } from '../../streams/tree.ts';
import type { RangeData, RangeMessage, RangeStep } from './range-thread.ts';
import { type ThreadHandle, threadsBeside } from '../../runtime/thread.ts';

const startThread = threadsBeside(import.meta.url);

export class RangeThread implements AsyncDisposable {
  readonly #data: RangeData;
  readonly #onCrash: (error: Error) => void;
  #thread: ThreadHandle<RangeMessage> | undefined;

  constructor(data: RangeData, onCrash: (error: Error) => void) {
    this.#data = data;
    this.#onCrash = onCrash;
  }

  async check(wish: RangeWish, onProgress: (checkedEvents: number) => void): Promise<RangeVerdict> {
    const thread = await this.#opened();
    // The thread answers these types, so the casts only repeat them.
    const number = (await thread.ask({ verb: 'Begin', wish })) as number;
    for (;;) {
      const { checkedEvents, verdict } = (await thread.ask({ verb: 'Step', number })) as RangeStep;
      if (verdict !== undefined) return verdict;
      onProgress(checkedEvents);
    }
  }

  /** One that could not open is not kept: the next range tries again. */
  async #opened(): Promise<ThreadHandle<RangeMessage>> {
    const thread = (this.#thread ??= startThread<RangeMessage>('range-thread', this.#data, this.#onCrash));
    try {
      await thread.opened;
      return thread;
    } catch (error) {
      if (this.#thread === thread) this.#thread = undefined;
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#thread?.[Symbol.asyncDispose]();
  }
}
