// Large bodies are parsed in a thread of their own, one after the other. It starts with the first of them, and again
// with the next one if it ever ends.

import { ownBuffers, type ThreadHandle, threadsBeside } from '../../runtime/thread.ts';
import type { Telemetry } from '../../telemetry.ts';
import type { BodyMessage } from './body-thread.ts';
import type { BodyRules, ParsedBody } from './parse-body.ts';

const startThread = threadsBeside(import.meta.url);

export class LargeBodies implements AsyncDisposable {
  readonly #telemetry: Telemetry;
  #thread: ThreadHandle<BodyMessage> | undefined;

  constructor(telemetry: Telemetry) {
    this.#telemetry = telemetry;
  }

  /** The bytes are handed over where they are all that their memory holds. */
  async parse(bytes: Uint8Array, rules: BodyRules, isKeyed: boolean): Promise<ParsedBody> {
    const parsed = await this.#running().ask({ bytes, rules, isKeyed }, ownBuffers(bytes));
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
