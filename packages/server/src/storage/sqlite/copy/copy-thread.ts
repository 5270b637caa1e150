// The copy thread: writes a copy of one state of the journal into a file. Entry of a worker: SQLite does it in one
// blocking call, and the main thread reports the progress.

import { workerData } from 'node:worker_threads';
import { serveThread } from '../../../runtime/thread.ts';
import { openJournalForReading } from '../connection/database.ts';

export interface CopyData {
  readonly directory: string;
}

export interface CopyMessage {
  /** An existing empty file. */
  readonly file: string;
}

const { directory } = workerData as CopyData;
const db = openJournalForReading(directory);
// The connection cannot write to the journal anyway; this would block writes to the copy, too.
db.exec('PRAGMA query_only = OFF');

serveThread<CopyMessage>({
  answer({ file }) {
    db.prepare('VACUUM INTO ?').run(file);
    return { value: undefined };
  },
  stop: () => db.close(),
});
