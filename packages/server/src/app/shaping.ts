// The pieces of exports, made in a thread that is started for the first of them; or here, where a service has no threads.

import { type Piece, Shaper, type Shaping } from '../exports/shaping.ts';
import { threadsBeside } from '../runtime/thread.ts';
import { ThreadOnDemand } from '../runtime/thread-on-demand.ts';
import type { LateStorage } from '../storage/late-storage.ts';

/** What `shape` is called with. */
export type ShapeMessage = Parameters<Shaping['shape']>;

/** What it makes is garbage soon: more room for that would make it seldom collected, and no faster. */
const LIMITS = { maxYoungGenerationSizeMb: 12 };

const startThread = threadsBeside(import.meta.url);

export function shapingOn(
  storage: Pick<LateStorage, 'log' | 'tree' | 'logPlace'>,
  hasThreads: boolean,
): Shaping & AsyncDisposable {
  if (!hasThreads)
    return Object.assign(new Shaper(storage.log, storage.tree), { [Symbol.asyncDispose]: async () => {} });
  const thread = new ThreadOnDemand(() =>
    startThread<ShapeMessage>('export-thread', storage.logPlace, () => thread.forget(), [], LIMITS),
  );
  return {
    shape: async (...asked) => (await (await thread.started()).ask(asked)) as Piece,
    [Symbol.asyncDispose]: () => thread[Symbol.asyncDispose](),
  };
}
