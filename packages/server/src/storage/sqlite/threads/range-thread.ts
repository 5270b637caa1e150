// The range thread: recomputes parts of logs on request, on a connection that cannot write. Entry of a worker.

import { workerData } from 'node:worker_threads';
import { serveCalls } from '../../../runtime/calls.ts';
import { openJournalForReading } from '../connection/database.ts';
import { RangeChecks } from '../log/ranges.ts';
import type { TreeData } from './tree-thread.ts';

const { directory, logOrigin } = workerData as TreeData;
const db = openJournalForReading(directory);

serveCalls({ ranges: new RangeChecks(db, logOrigin) }, () => db.close());
