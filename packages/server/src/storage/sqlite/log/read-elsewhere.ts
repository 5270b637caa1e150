// The log for a thread that only reads it, on a connection that cannot write.

import { callsFor, callsHere } from '../../../runtime/calls.ts';
import type { LogReader } from '../../../streams/log.ts';
import { type SealingData, sealingWith } from '../../sealing/sealing.ts';
import { openJournalForReading } from '../connection/database.ts';
import { LogTables } from './log-tables.ts';

export interface SqliteLogPlace {
  readonly directory: string;
  readonly logOrigin: string;
  readonly sealing: SealingData;
}

export function openLogForReading({
  directory,
  logOrigin,
  sealing: data,
}: SqliteLogPlace): LogReader & AsyncDisposable {
  const db = openJournalForReading(directory);
  const sealing = sealingWith(data);
  const tables = callsHere(new LogTables(db, logOrigin, sealing.rows));
  return {
    forTenant: (tenant) => callsFor(tenant, tables),
    async [Symbol.asyncDispose]() {
      db.close();
      sealing[Symbol.dispose]();
    },
  };
}
