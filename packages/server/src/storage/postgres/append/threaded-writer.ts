// The writing side of the log in a separate thread.

import type { LogWriter } from '../../../streams/log.ts';
import { type CallMessage, callsTo } from '../../../runtime/calls.ts';
import { threadsBeside } from '../../../runtime/thread.ts';
import { appendsBy } from '../../pool/send-pools.ts';
import type { HeldShares } from '../nodes/held-shares.ts';
import type { Journal } from './journal.ts';
import { writesOf } from '../log/log.ts';
import type { Pools, WriterData } from './writer-thread.ts';

const startThread = threadsBeside(import.meta.url);

export interface ThreadedWriterParts extends Omit<WriterData, 'areDivided'> {
  readonly held: HeldShares;
  /** Called when the thread has died: the state of its work is unknown. */
  readonly onCrash: (error: Error) => void;
}

export async function startWriter(parts: ThreadedWriterParts): Promise<LogWriter & AsyncDisposable> {
  const { connecting, logOrigin, streams, sealing, held, onCrash } = parts;
  const data: WriterData = { connecting, logOrigin, streams, sealing, areDivided: held.areDivided };
  const thread = startThread<CallMessage>('writer-thread', data, onCrash);
  await thread.opened;
  const shares = callsTo<HeldShares>(thread, 'held');
  held.handOnTo((leases, remainingNs) => {
    // The crash of the thread is reported elsewhere.
    shares.setFor(leases, remainingNs).catch(() => {});
  });
  const pools = callsTo<Pools>(thread, 'pools');
  return {
    ...writesOf(callsTo<Journal>(thread, 'journal'), appendsBy(pools.append, pools.rest)),
    [Symbol.asyncDispose]: () => thread[Symbol.asyncDispose](),
  };
}
