// The reader thread: reads of the log, on a connection that cannot write. Entry of a worker.

import { workerData } from 'node:worker_threads';
import { serveCalls } from '../../../runtime/calls.ts';
import { openJournalForReading } from '../connection/database.ts';
import { LogTables } from '../log/log-tables.ts';
import type { TreeData } from './tree-thread.ts';
import { TreeReads } from '../tree/tree-reads.ts';

const { directory, logOrigin } = workerData as TreeData;
const db = openJournalForReading(directory);

serveCalls({ log: new LogTables(db, logOrigin), trees: new TreeReads(db, logOrigin) }, () => db.close());
