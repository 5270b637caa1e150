// The range thread: recomputes parts of logs for whoever asks, on a connection that cannot write. A long range is gone
// through in steps, so that several go on side by side. Entry of a worker.

import { workerData } from 'node:worker_threads';
import type { RangeVerdict, RangeWish } from '../../streams/tree.ts';
import { openJournalForReading } from './database.ts';
import { checkRange } from './fsck/range.ts';
import { trustedOf } from '../fsck/notes.ts';
import { serveThread } from '../../runtime/thread.ts';

export interface RangeData {
  readonly directory: string;
  readonly logOrigin: string;
}

export type RangeMessage =
  | { readonly verb: 'Begin'; readonly wish: RangeWish }
  | { readonly verb: 'Step'; readonly number: number };

/** How far a range has come; with the verdict at its end. */
export interface RangeStep {
  readonly checkedEvents: number;
  readonly verdict?: RangeVerdict;
}

const { directory, logOrigin } = workerData as RangeData;
const db = openJournalForReading(directory);
const ranges = new Map<number, ReturnType<typeof checkRange>>();
let lastNumber = 0;

function begin(wish: RangeWish): number {
  ranges.set(++lastNumber, checkRange(db, logOrigin, wish, trustedOf(wish)));
  return lastNumber;
}

function step(number: number): RangeStep | undefined {
  const range = ranges.get(number);
  if (range === undefined) return undefined;
  // Whatever happens in this step, one that has ended or failed is not kept.
  ranges.delete(number);
  const next = range.next();
  if (next.done !== true) {
    ranges.set(number, range);
    return { checkedEvents: next.value };
  }
  return { checkedEvents: next.value.checkedEvents, verdict: next.value };
}

serveThread<RangeMessage>({
  answer(message) {
    switch (message.verb) {
      case 'Begin':
        return { value: begin(message.wish) };
      case 'Step':
        return { value: step(message.number) };
    }
  },
  stop: () => db.close(),
});
