// The pieces of exports, made in a thread that is started for the first of them; or here, where a service has no threads.

import { Shaper, type Shaping } from '../exports/shaping.ts';
import { type CallMessage, callsTo } from '../runtime/calls.ts';
import { threadsBeside } from '../runtime/thread.ts';
import { ThreadOnDemand } from '../runtime/thread-on-demand.ts';
import type { LateStorage } from '../storage/late-storage.ts';

const startThread = threadsBeside(import.meta.url);

export function shapingOn(
  storage: Pick<LateStorage, 'log' | 'tree' | 'logPlace'>,
  hasThreads: boolean,
): Shaping & AsyncDisposable {
  if (!hasThreads)
    return Object.assign(new Shaper(storage.log, storage.tree), { [Symbol.asyncDispose]: async () => {} });
  const thread = new ThreadOnDemand(() =>
    startThread<CallMessage>('export-thread', storage.logPlace, () => thread.forget()),
  );
  return {
    shape: async (...args) => callsTo<Shaper>(await thread.started(), 'shaper').shape(...args),
    [Symbol.asyncDispose]: () => thread[Symbol.asyncDispose](),
  };
}
