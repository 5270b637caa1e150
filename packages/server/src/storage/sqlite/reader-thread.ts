// The reader thread: reads of the log, on a connection that cannot write. Entry of a worker.

import { workerData } from 'node:worker_threads';
import type { Classification, EventId, OperationName, TenantId } from '@tallystick/contract';
import { openJournalForReading } from './database.ts';
import { LogTables } from './log-tables.ts';
import { serveThread } from './thread.ts';

export interface ReaderData {
  readonly directory: string;
}

export type ReaderMessage =
  | {
      readonly verb: 'Event';
      readonly tenant: TenantId;
      readonly eventId: EventId;
      readonly visible: readonly Classification[];
    }
  | {
      readonly verb: 'UsedKey';
      readonly tenant: TenantId;
      readonly operation: OperationName;
      readonly key: string;
      readonly steadyNowMs: number;
    };

const { directory } = workerData as ReaderData;
const db = openJournalForReading(directory);
const tables = new LogTables(db);

serveThread<ReaderMessage>({
  answer(message) {
    switch (message.verb) {
      case 'Event':
        return { value: tables.event(message.tenant, message.eventId, message.visible) };
      case 'UsedKey': {
        const { tenant, operation, key, steadyNowMs } = message;
        return { value: tables.usedKey(tenant, operation, key, steadyNowMs) };
      }
    }
  },
  stop: () => db.close(),
});
