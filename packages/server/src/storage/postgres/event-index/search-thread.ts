// A search thread: answers questions over connections of its own. Entry of a worker.

import { workerData } from 'node:worker_threads';
import { serveThread } from '../../../runtime/thread.ts';
import { answerSearch, type SearchMessage } from '../../event-index/store/index-messages.ts';
import { type SealingData, sealingWith } from '../../sealing/sealing.ts';
import { Database, type DatabaseOptions } from '../connection/database.ts';
import { searchesOver } from './event-index.ts';

export interface SearchData {
  readonly connecting: Omit<DatabaseOptions, 'onTrouble'>;
  readonly sealing: SealingData;
}

const { connecting, sealing: data } = workerData as SearchData;
const sealing = sealingWith(data);
const database = new Database(connecting);
const searches = searchesOver({ database, sealing });

serveThread<SearchMessage>({
  answer: (message) => answerSearch(searches, message),
  stop() {
    sealing[Symbol.dispose]();
    return database[Symbol.asyncDispose]();
  },
});
