// The log and its trees for a thread that only reads, over connections of its own.

import { type SealingData, sealingWith } from '../../sealing/sealing.ts';
import type { LogElsewhere } from '../../storage.ts';
import type { LoginUrls } from '../connection/logins.ts';
import { Database, type DatabaseOptions } from '../connection/database.ts';
import { treeReader } from '../tree/tree.ts';
import { LogTables } from './log-tables.ts';

export interface PostgresLogPlace {
  readonly connecting: LoginUrls & Pick<DatabaseOptions, 'isDistributed'>;
  readonly logOrigin: string;
  readonly sealing: SealingData;
}

const CONNECTIONS = 2;
const READ_MS_MAX = 60_000;

export function openLogForReading({ connecting, logOrigin, sealing: data }: PostgresLogPlace): LogElsewhere {
  const sealing = sealingWith(data);
  const database = new Database({ ...connecting, connectionsMax: CONNECTIONS, answerMsMax: READ_MS_MAX });
  const tables = new LogTables(database, logOrigin, sealing.rows);
  return {
    log: { forTenant: (tenant) => tables.forTenant(tenant) },
    trees: treeReader(database, logOrigin, sealing.rows),
    async [Symbol.asyncDispose]() {
      sealing[Symbol.dispose]();
      await database[Symbol.asyncDispose]();
    },
  };
}
