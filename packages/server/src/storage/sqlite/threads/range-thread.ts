// The range thread: recomputes parts of logs on request, on a connection that cannot write. Entry of a worker.

import { workerData } from 'node:worker_threads';
import { serveCalls } from '../../../runtime/calls.ts';
import { openJournalForReading } from '../connection/database.ts';
import { RangeChecks } from '../log/ranges.ts';
import { sealingWith } from '../../sealing/sealing.ts';
import type { TreeData } from './tree-thread.ts';

const { directory, logOrigin, sealing: data } = workerData as TreeData;
const db = openJournalForReading(directory);
const sealing = sealingWith(data);
const { rows } = sealing;

serveCalls({ ranges: new RangeChecks(db, logOrigin, rows) }, () => {
  db.close();
  sealing[Symbol.dispose]();
});
