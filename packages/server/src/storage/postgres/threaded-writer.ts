// The log's writing side in a thread of its own.

import type { LogWriter } from '../../streams/log.ts';
import { writesThrough } from '../pool/writer-messages.ts';
import { threadsBeside } from '../../runtime/thread.ts';
import type { HeldShares } from './held-shares.ts';
import type { WriterData, WriterMessage } from './writer-thread.ts';

const startThread = threadsBeside(import.meta.url);

export interface ThreadedWriterParts extends Omit<WriterData, 'areDivided'> {
  readonly held: HeldShares;
  /** Told when the thread has died: what it was doing is unknown. */
  readonly onCrash: (error: Error) => void;
}

export async function startWriter(parts: ThreadedWriterParts): Promise<LogWriter & AsyncDisposable> {
  const { connecting, logOrigin, streams, held, onCrash } = parts;
  const data: WriterData = { connecting, logOrigin, streams, areDivided: held.areDivided };
  const thread = startThread<WriterMessage>('writer-thread', data, onCrash);
  await thread.opened;
  held.handOnTo((leases, remainingNs) => {
    // Of a thread that is no more, others are told.
    thread.ask({ verb: 'Held', leases, remainingNs }).catch(() => {});
  });
  const writer = writesThrough(thread, undefined, (ticket) => thread.ask({ verb: 'Rest', ticket }));
  return { ...writer, [Symbol.asyncDispose]: () => thread[Symbol.asyncDispose]() };
}
