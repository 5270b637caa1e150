// The log on PostgreSQL: the port, composed of the writer and the readers.

import { type Calls, callsHere } from '../../../runtime/calls.ts';
import type { LogReader, LogWriter } from '../../../streams/log.ts';
import { decodePool, encodePool } from '../../pool/append-message.ts';
import type { PoolCommitter } from '../../pool/pool-commitments.ts';
import type { SealedRows } from '../../sealing/sealed-rows.ts';
import type { Database } from '../connection/database.ts';
import { Journal, type JournalOptions } from '../append/journal.ts';
import { LogTables } from './log-tables.ts';

export interface LogParts extends JournalOptions {
  /** A separate connection for appends: readers never delay them. */
  readonly writing: Database;
  readonly reading: Database;
  readonly committer: PoolCommitter;
  /** Opens what is sealed. */
  readonly sealed?: SealedRows;
}

/** Uses a writer in this or another thread. */
export function createLogWith(
  writer: LogWriter,
  { reading, logOrigin, sealed }: Pick<LogParts, 'reading' | 'logOrigin' | 'sealed'>,
): LogWriter & LogReader {
  const tables = new LogTables(reading, logOrigin, sealed);
  return { ...writer, forTenant: (tenant) => tables.forTenant(tenant) };
}

/** In this thread. */
export function writesHere(parts: Omit<LogParts, 'reading' | 'sealed'>): LogWriter {
  const { writing, committer } = parts;
  const journal = new Journal(writing, parts);
  return writesOf(callsHere(journal), (requests, now, onLocked) => {
    const pool = decodePool(encodePool(requests, now));
    // Made while the previous pool is still being committed.
    const commitments = committer.make(pool.requests);
    return journal.append(pool, commitments, onLocked);
  });
}

/** The port of a journal in this or another thread. */
export function writesOf(journal: Calls<Journal>, append: LogWriter['append']): LogWriter {
  const { seal, beginEpoch, sealAged, sweepUsedKeys, endKeyWindows, probe } = journal;
  return { append, seal, beginEpoch, sealAged, sweepUsedKeys, endKeyWindows, probe };
}
