// The reader thread: reads of the log, on a connection that cannot write. Entry of a worker.

import { workerData } from 'node:worker_threads';
import { serveCalls } from '../../../runtime/calls.ts';
import { openJournalForReading } from '../connection/database.ts';
import { LogTables } from '../log/log-tables.ts';
import { sealingWith } from '../../sealing/sealing.ts';
import type { TreeData } from './tree-thread.ts';
import { TreeReads } from '../tree/tree-reads.ts';

const { directory, logOrigin, sealing: data } = workerData as TreeData;
const db = openJournalForReading(directory);
const sealing = sealingWith(data);
const { rows } = sealing;

serveCalls({ log: new LogTables(db, logOrigin, rows), trees: new TreeReads(db, logOrigin, rows) }, () => {
  db.close();
  sealing[Symbol.dispose]();
});
