// The messages of a stream as they come. What has come and is not taken yet counts in the budget of bodies; more is read only
// when the one before was taken, and one that sends nothing for too long is told so.

import type { IncomingMessage } from 'node:http';
import { AuditError } from '@tallystick/contract';
import type { BytesParts } from '../http/body-bytes.ts';
import { type Frame, FRAME_HEAD_BYTES, malformed, tooLarge } from './frames.ts';

export interface FrameLimits {
  readonly bytesMax: number;
  readonly stillMs: number;
  /** Ends the stream where the next message would begin. */
  readonly stop: AbortSignal;
}

export async function* sentFrames(
  request: IncomingMessage,
  sender: string,
  { bytesMax, stillMs, stop }: FrameLimits,
  { clock, budget }: BytesParts,
): AsyncGenerator<Frame> {
  const chunks = request[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  let pieces: Buffer[] = [];
  let length = 0;
  try {
    for (;;) {
      // Put together only when all of a head, or of a message, is there.
      const head = length < FRAME_HEAD_BYTES ? undefined : headOf(pieces);
      const bytes = head === undefined ? 0 : head.readUInt32BE(1);
      if (bytes > bytesMax) throw tooLarge(bytesMax);
      const end = FRAME_HEAD_BYTES + bytes;
      if (head !== undefined && length >= end) {
        const whole = Buffer.concat(pieces, length);
        yield { flags: whole[0]!, message: whole.subarray(FRAME_HEAD_BYTES, end) };
        [pieces, length] = [[whole.subarray(end)], length - end];
        budget.giveBack(sender, end);
        continue;
      }
      const next = await nextChunk(chunks, stillMs, stop, clock);
      if (next === undefined) {
        if (length > 0 && !stop.aborted) throw malformed('its last message is cut off');
        return;
      }
      const refusal = budget.take(sender, next.length);
      if (refusal !== undefined) throw refusal;
      pieces.push(next);
      length += next.length;
    }
  } finally {
    budget.giveBack(sender, length);
  }
}

function headOf(pieces: readonly Buffer[]): Buffer {
  const [first] = pieces;
  return first !== undefined && first.length >= FRAME_HEAD_BYTES ? first : Buffer.concat(pieces);
}

/** Undefined: it was the last, or the stream is to end. */
function nextChunk(
  chunks: AsyncIterator<Buffer>,
  stillMs: number,
  stop: AbortSignal,
  clock: BytesParts['clock'],
): Promise<Buffer | undefined> {
  return new Promise((resolve, reject) => {
    if (stop.aborted) return resolve(undefined);
    const finish = (settle: () => void) => {
      timer.cancel();
      stop.removeEventListener('abort', end);
      settle();
    };
    const end = () => finish(() => resolve(undefined));
    const timer = clock.after(stillMs, () =>
      finish(() => reject(new AuditError('UPSTREAM_TIMEOUT', `Nothing came for ${stillMs / 1000} seconds.`))),
    );
    stop.addEventListener('abort', end);
    chunks.next().then(
      ({ done, value }) => finish(() => resolve(done === true ? undefined : value)),
      () => finish(() => reject(malformed('it is broken off'))),
    );
    return undefined;
  });
}
