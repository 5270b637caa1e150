// The tree thread: reads back appended entries, on a connection that cannot write, and recomputes them. Entry of a
// worker.

import { workerData } from 'node:worker_threads';
import { serveCalls } from '../../../runtime/calls.ts';
import { openJournalForReading } from '../connection/database.ts';
import type { SealingData } from '../../sealing/sealing.ts';
import { TreeGrowth } from '../tree/tree-growth.ts';

export interface TreeData {
  readonly directory: string;
  readonly logOrigin: string;
  readonly sealing: SealingData;
}

const { directory, logOrigin } = workerData as TreeData;
const db = openJournalForReading(directory);

serveCalls({ growth: new TreeGrowth(db, logOrigin) }, () => db.close());
