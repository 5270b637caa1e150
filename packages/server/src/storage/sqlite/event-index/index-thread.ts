// The index thread: owns the one connection that writes to views.db. Entry of a worker.

import { workerData } from 'node:worker_threads';
import { systemClock } from '../../../runtime/clock.ts';
import { createUlids } from '../../../runtime/ids.ts';
import { createSystemRandom } from '../../../runtime/random.ts';
import { openJournalForReading } from '../database.ts';
import { serveThread } from '../thread.ts';
import { IndexFollower } from './follower.ts';
import { openViews } from './views-database.ts';

export interface IndexData {
  readonly directory: string;
}

export type IndexMessage =
  | { readonly verb: 'Turn'; readonly nowMs: number }
  /** Why the views that were there are thrown away; undefined if they are not. */
  | { readonly verb: 'Discarded' };

const { directory } = workerData as IndexData;
const journal = openJournalForReading(directory);
const { db, discarded } = openViews(directory, journal);
const follower = new IndexFollower(journal, db, createUlids(systemClock, createSystemRandom()));

serveThread<IndexMessage>({
  answer(message) {
    switch (message.verb) {
      case 'Turn':
        return { value: follower.turn(message.nowMs) };
      case 'Discarded':
        return { value: discarded };
    }
  },
  stop() {
    db.close();
    journal.close();
  },
});
