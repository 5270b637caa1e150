// A body of any size, sent as its reader takes it: no more is read from the source than fits into the buffers of the
// connection. A source that fails, or that gives another number of bytes than was said, cuts the connection, since
// that is the only way left to tell the reader that this is not all. A reader that stops reading is disconnected.

import type { Clock } from '../../runtime/clock.ts';
import type { Outgoing } from './unread-answers.ts';

/** For what is in the buffers, many times what a slow line needs. */
const READ_MS_MAX = 60_000;

export class ByteStream {
  readonly #chunks: AsyncIterable<Uint8Array>;
  /** Undefined: known when it ends. */
  readonly byteLength: number | undefined;

  constructor(chunks: AsyncIterable<Uint8Array>, byteLength: number | undefined) {
    this.#chunks = chunks;
    this.byteLength = byteLength;
  }

  /** Sends all of it behind the headers; throws what the source throws, and not when the reader goes away. */
  async sendTo(
    response: Outgoing & { readonly req?: { readonly method?: string | undefined } },
    clock: Clock,
  ): Promise<void> {
    if (response.req?.method !== 'HEAD') await this.#send(response, clock);
    if (!response.destroyed) response.end();
  }

  async #send(response: Outgoing, clock: Clock): Promise<void> {
    const { byteLength } = this;
    let sent = 0;
    for await (const chunk of this.#chunks) {
      // Leaving the loop closes the source.
      if (response.destroyed) return;
      sent += chunk.length;
      if (byteLength !== undefined && sent > byteLength)
        throw new Error(`an answer of ${byteLength} bytes has more`);
      if (!response.write(chunk)) await taken(response, clock);
    }
    if (byteLength !== undefined && sent < byteLength && !response.destroyed)
      throw new Error(`an answer of ${byteLength} bytes ends after ${sent}`);
  }
}

/** Resolves when the reader has taken what was written, or is gone. */
function taken(response: Outgoing, clock: Clock): Promise<void> {
  return new Promise((resolve) => {
    const timer = clock.after(READ_MS_MAX, () => response.destroy());
    const done = () => {
      timer.cancel();
      response.off('drain', done);
      response.off('close', done);
      resolve();
    };
    response.on('drain', done);
    response.on('close', done);
  });
}
