// The log for a thread that only reads it, over connections of its own.

import type { LogReader } from '../../../streams/log.ts';
import { type SealingData, sealingWith } from '../../sealing/sealing.ts';
import type { LoginUrls } from '../connection/logins.ts';
import { Database, type DatabaseOptions } from '../connection/database.ts';
import { LogTables } from './log-tables.ts';

export interface PostgresLogPlace {
  readonly connecting: LoginUrls & Pick<DatabaseOptions, 'isDistributed'>;
  readonly logOrigin: string;
  readonly sealing: SealingData;
}

const CONNECTIONS = 2;
const READ_MS_MAX = 60_000;

export function openLogForReading({
  connecting,
  logOrigin,
  sealing: data,
}: PostgresLogPlace): LogReader & AsyncDisposable {
  const sealing = sealingWith(data);
  const database = new Database({ ...connecting, connectionsMax: CONNECTIONS, answerMsMax: READ_MS_MAX });
  const tables = new LogTables(database, logOrigin, sealing.rows);
  return {
    forTenant: (tenant) => tables.forTenant(tenant),
    async [Symbol.asyncDispose]() {
      sealing[Symbol.dispose]();
      await database[Symbol.asyncDispose]();
    },
  };
}
