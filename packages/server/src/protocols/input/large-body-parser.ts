// Large bodies are parsed in a thread of their own, one at a time and by turns of their senders. It starts with the first
// of them, and again with the next one if it ever ends.

import { ownBuffers, type ThreadHandle, threadsBeside } from '../../runtime/thread.ts';
import { FairQueue } from '../../runtime/turns.ts';
import type { Telemetry } from '../../telemetry.ts';
import type { BodyMessage } from './body-thread.ts';
import type { ParsedBody } from './parse-body.ts';

const startThread = threadsBeside(import.meta.url);

export class LargeBodyParser implements AsyncDisposable {
  readonly #telemetry: Telemetry;
  readonly #turns = new FairQueue();
  #thread: ThreadHandle<BodyMessage> | undefined;

  constructor(telemetry: Telemetry) {
    this.#telemetry = telemetry;
  }

  /** The bytes are handed over where they are all that their memory holds. */
  async parse(sender: string, message: BodyMessage): Promise<ParsedBody> {
    const parsed = await this.#turns.take(sender, () =>
      this.#running().ask(message, ownBuffers(message.bytes)),
    );
    // The thread answers with nothing else.
    return parsed as ParsedBody;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#thread?.[Symbol.asyncDispose]();
  }

  #running(): ThreadHandle<BodyMessage> {
    if (this.#thread?.crash !== undefined) this.#thread = undefined;
    this.#thread ??= startThread<BodyMessage>('body-thread', undefined, (error) => {
      this.#telemetry.error(
        'the thread that parses large bodies has ended; the next one starts it again',
        error,
      );
    });
    return this.#thread;
  }
}
