// The index of events of the embedded store: its threads read journal.db, and keep segments in views.db.

import type { Clock } from '../../../runtime/clock.ts';
import { codeOf, threadsBeside } from '../../../runtime/thread.ts';
import type { MakerMessage, SearchMessage } from '../../event-index/store/index-messages.ts';
import { ThreadedIndex } from '../../event-index/store/threaded-index.ts';
import type { SealingData } from '../../sealing/sealing.ts';
import type { IndexData } from './index-thread.ts';
import type { SearchData } from './search-thread.ts';

const startThread = threadsBeside(import.meta.url);

export interface EventIndexOptions {
  readonly directory: string;
  readonly logOrigin: string;
  readonly sealing: SealingData;
  readonly clock: Clock;
  /** Told that a thread has died, and why the views that were there are thrown away. */
  readonly onTrouble: (what: string, error: Error | undefined) => void;
}

export function createEventIndex({
  directory,
  logOrigin,
  sealing,
  clock,
  onTrouble,
}: EventIndexOptions): ThreadedIndex {
  return new ThreadedIndex({
    clock,
    onTrouble,
    isDamage,
    startMaker(isDamaged, onCrash) {
      const data: IndexData = { directory, logOrigin, sealing, isDamaged };
      return startThread<MakerMessage>('index-thread', data, onCrash);
    },
    startSearcher(onCrash) {
      const data: SearchData = { directory, logOrigin, sealing };
      return startThread<SearchMessage>('search-thread', data, onCrash);
    },
  });
}

/** A file that was cut short reads like a disk that fails. */
const DAMAGE: readonly unknown[] = ['SQLITE_CORRUPT', 'SQLITE_NOTADB', 'SQLITE_CANTOPEN', 'SQLITE_IOERR'];

/** The file is not what was written, or is gone: then a thread that starts cannot open it. */
function isDamage(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return DAMAGE.includes(codeOf(error)) || error.message.startsWith('no such table');
}
