// The copy thread: writes a copy of the journal, of one state of it, into a file. Entry of a worker: SQLite does it in one
// call, and whoever waits wants to tell meanwhile how far it has come.

import { workerData } from 'node:worker_threads';
import { serveThread } from '../../../runtime/thread.ts';
import { openJournalForReading } from '../connection/database.ts';

export interface CopyData {
  readonly directory: string;
}

export interface CopyMessage {
  /** Is there, and empty. */
  readonly file: string;
}

const { directory } = workerData as CopyData;
const db = openJournalForReading(directory);
// The connection itself cannot write to the journal; this would keep it from writing anywhere.
db.exec('PRAGMA query_only = OFF');

serveThread<CopyMessage>({
  answer({ file }) {
    db.prepare('VACUUM INTO ?').run(file);
    return { value: undefined };
  },
  stop: () => db.close(),
});
