// The thread that owns work.db. Entry of a worker.

import { workerData } from 'node:worker_threads';
import { serveCalls } from '../../../runtime/calls.ts';
import { systemClock } from '../../../runtime/clock.ts';
import { createSteadyTime } from '../../../runtime/steady-time.ts';
import { openJournalForReading } from '../connection/database.ts';
import { ViolationTables } from '../../work/violation-tables.ts';
import { Follows } from './follow.ts';
import { JobTablesWithOutbox } from './outbox.ts';
import { WorkDatabase } from './work-database.ts';

export interface WorkData {
  readonly directory: string;
  /** No other process has it open: held jobs are released. */
  readonly isAlone: boolean;
}

const { directory, isAlone } = workerData as WorkData;
const database = new WorkDatabase(directory, createSteadyTime(systemClock));
if (isAlone) database.release();
const journal = openJournalForReading(directory);
const jobs = new JobTablesWithOutbox({ directory, journal, database });

const parts = {
  jobs,
  follows: new Follows(journal, database, jobs),
  violations: new ViolationTables(database),
};
serveCalls(parts, () => {
  journal.close();
  database[Symbol.dispose]();
});
