// Server-sent events (WHATWG HTML, 9.2) as the bytes of an answer. While there is nothing to tell, a comment goes out every
// few seconds: proxies and our own listener cut connections on which nothing passes, and it is how a reader that is gone is
// noticed.

import { type Clock, wait } from '../../runtime/clock.ts';
import type { LastingAnswer } from './lasting-answers.ts';

export interface SseMessage {
  readonly event?: string;
  readonly id?: string;
  /** Any text; each of its lines becomes one of the message. */
  readonly data: string;
}

/** Well below the time after which the listener gives a still connection up. */
const STILL_MS = 15_000;

const COMMENT = Buffer.from(':\n\n');

export const SSE_TYPE = 'text/event-stream; charset=utf-8';

/** Ends with its source, which in turn ends with the lasting answer that it is made for: also when the reader is gone. */
export async function* sseBytes(
  messages: AsyncIterable<SseMessage>,
  lasting: LastingAnswer,
  clock: Clock,
): AsyncGenerator<Uint8Array, void> {
  using answer = lasting;
  const source = messages[Symbol.asyncIterator]();
  let reading = source.next();
  try {
    // With the first bytes the reader gets the head of the answer.
    yield COMMENT;
    for (;;) {
      const calm = new AbortController();
      const read = await Promise.race([reading, wait(clock, STILL_MS, calm.signal)]).finally(() =>
        calm.abort(),
      );
      if (read === undefined) {
        yield COMMENT;
        continue;
      }
      if (read.done === true) return;
      yield Buffer.from(textOf(read.value));
      reading = source.next();
    }
  } finally {
    // A source that waits would not hear that it is to return.
    answer.leave();
    reading.catch(() => {});
    await source.return?.();
  }
}

function textOf({ event, id, data }: SseMessage): string {
  const lines = data.split(/\r\n|\r|\n/).map((line) => `data: ${line}\n`);
  const name = event === undefined ? '' : `event: ${event}\n`;
  return `${name}${id === undefined ? '' : `id: ${id}\n`}${lines.join('')}\n`;
}
