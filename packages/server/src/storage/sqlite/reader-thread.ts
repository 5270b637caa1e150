// The reader thread: reads of the log, on a connection that cannot write. Entry of a worker.

import { workerData } from 'node:worker_threads';
import { serveCalls } from '../../runtime/calls.ts';
import { openJournalForReading } from './database.ts';
import { LogTables } from './log-tables.ts';
import type { TreeData } from './tree-thread.ts';
import { TreeReads } from './tree-reads.ts';

const { directory, logOrigin } = workerData as TreeData;
const db = openJournalForReading(directory);

serveCalls({ log: new LogTables(db, logOrigin), trees: new TreeReads(db, logOrigin) }, () => db.close());
