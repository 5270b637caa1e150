// A search thread: answers questions over connections that cannot write. Entry of a worker.

import { workerData } from 'node:worker_threads';
import { serveThread } from '../../../runtime/thread.ts';
import type { SearchMessage } from '../../event-index/store/index-messages.ts';
import { answerSearch } from '../../event-index/store/index-messages.ts';
import { Searches } from '../../event-index/store/searches.ts';
import { type SealingData, sealingWith } from '../../sealing/sealing.ts';
import { openJournalForReading } from '../connection/database.ts';
import { JournalEvents } from './journal-events.ts';
import { SegmentTables } from './segment-tables.ts';
import { openViewsForReading } from './views-database.ts';

export interface SearchData {
  readonly directory: string;
  readonly logOrigin: string;
  readonly sealing: SealingData;
}

const { directory, logOrigin, sealing: data } = workerData as SearchData;
const sealing = sealingWith(data);
const journal = openJournalForReading(directory);
const views = openViewsForReading(directory);
const store = new SegmentTables(views);
const searches = new Searches(
  store,
  new JournalEvents(journal, logOrigin, (tenant) => store.indexedTo(tenant), sealing.rows),
);

serveThread<SearchMessage>({
  answer: (message) => answerSearch(searches, message),
  stop() {
    views.close();
    journal.close();
    sealing[Symbol.dispose]();
  },
});
