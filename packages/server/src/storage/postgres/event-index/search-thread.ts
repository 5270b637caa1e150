// A search thread: answers questions over connections of its own. Entry of a worker.

import { workerData } from 'node:worker_threads';
import { serveThread } from '../../../runtime/thread.ts';
import { answerSearch, type SearchMessage } from '../../event-index/store/index-messages.ts';
import { Database, type DatabaseOptions } from '../connection/database.ts';
import { searchesOver } from './event-index.ts';

export interface SearchData {
  readonly connecting: Omit<DatabaseOptions, 'onTrouble'>;
}

const { connecting } = workerData as SearchData;
const database = new Database(connecting);
const searches = searchesOver({ database });

serveThread<SearchMessage>({
  answer: (message) => answerSearch(searches, message),
  stop: () => database[Symbol.asyncDispose](),
});
