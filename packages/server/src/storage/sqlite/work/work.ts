// Work in work.db: in a separate thread in the service, in this thread for the command line.

import type { ViolationStore } from '../../../alerts/violations.ts';
import type { FollowStore } from '../../../followers/follow-store.ts';
import { type CallMessage, callsHere, callsTo } from '../../../runtime/calls.ts';
import type { Clock } from '../../../runtime/clock.ts';
import { createSteadyTime } from '../../../runtime/steady-time.ts';
import { threadsBeside } from '../../../runtime/thread.ts';
import type { WorkStore } from '../../../work/jobs.ts';
import { ViolationTables, violationStoreOn } from '../../work/violation-tables.ts';
import { workStoreOn } from '../../work/work-store.ts';
import { openJournalForReading } from '../connection/database.ts';
import { Follows } from './follow.ts';
import { JobTablesWithOutbox } from './outbox.ts';
import { WorkDatabase } from './work-database.ts';
import type { WorkData } from './work-thread.ts';

const startThread = threadsBeside(import.meta.url);

export interface WorkOptions {
  readonly directory: string;
  readonly clock: Clock;
  readonly threads: boolean;
  /** No other process has it open: held jobs are released. */
  readonly exclusive: boolean;
  readonly onFatal: (error: Error) => void;
}

export interface OpenWork extends AsyncDisposable {
  /** Settles when it can be used, or cannot. */
  readonly opened: Promise<unknown>;
  readonly store: WorkStore;
  readonly follows: FollowStore;
  readonly violations: ViolationStore;
}

/** The journal must exist. Throws StartError, or rejects `opened`. */
export function openWork(options: WorkOptions): OpenWork {
  return options.threads ? inThread(options) : here(options);
}

function inThread({ directory, exclusive, onFatal }: WorkOptions): OpenWork {
  const data: WorkData = { directory, isAlone: exclusive };
  const thread = startThread<CallMessage>('work-thread', data, onFatal);
  return {
    opened: thread.opened,
    store: workStoreOn(callsTo(thread, 'jobs')),
    follows: callsTo<Follows>(thread, 'follows'),
    violations: violationStoreOn(callsTo(thread, 'violations')),
    [Symbol.asyncDispose]: () => thread[Symbol.asyncDispose](),
  };
}

function here({ directory, clock, exclusive }: WorkOptions): OpenWork {
  const database = new WorkDatabase(directory, createSteadyTime(clock));
  if (exclusive) database.release();
  const journal = openJournalForReading(directory);
  const jobs = new JobTablesWithOutbox({ directory, journal, database });
  return {
    opened: Promise.resolve(),
    store: workStoreOn(callsHere(jobs)),
    follows: callsHere(new Follows(journal, database, jobs)),
    violations: violationStoreOn(callsHere(new ViolationTables(database))),
    async [Symbol.asyncDispose]() {
      journal.close();
      database[Symbol.dispose]();
    },
  };
}
