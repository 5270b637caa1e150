// The log and its trees for a thread that only reads, on a connection that cannot write.

import { callsFor, callsHere } from '../../../runtime/calls.ts';
import { type SealingData, sealingWith } from '../../sealing/sealing.ts';
import type { LogElsewhere } from '../../storage.ts';
import { openJournalForReading } from '../connection/database.ts';
import { findingTrees, TreeReads } from '../tree/tree-reads.ts';
import { LogTables } from './log-tables.ts';

export interface SqliteLogPlace {
  readonly directory: string;
  readonly logOrigin: string;
  readonly sealing: SealingData;
}

export function openLogForReading({ directory, logOrigin, sealing: data }: SqliteLogPlace): LogElsewhere {
  const db = openJournalForReading(directory);
  const sealing = sealingWith(data);
  const tables = callsHere(new LogTables(db, logOrigin, sealing.rows));
  const reads = callsHere(new TreeReads(db, logOrigin, sealing.rows));
  const { evidenceRange } = reads;
  const trees = { evidenceRange, tree: findingTrees(reads) };
  return {
    log: { forTenant: (tenant) => callsFor(tenant, tables) },
    trees: { forTenant: (tenant) => callsFor(tenant, trees) },
    async [Symbol.asyncDispose]() {
      db.close();
      sealing[Symbol.dispose]();
    },
  };
}
