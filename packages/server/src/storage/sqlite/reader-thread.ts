// The reader thread: reads of the log, on a connection that cannot write. Entry of a worker.

import { workerData } from 'node:worker_threads';
import type { Classification, EventId, OperationName, StreamId, TenantId } from '@tallystick/contract';
import type { StreamsBeyond, EventsWay } from '../../streams/log.ts';
import { openJournalForReading } from './database.ts';
import { LogTables } from './log-tables.ts';
import { serveThread } from '../../runtime/thread.ts';
import { readTree, type TreeRead, treeReads } from './tree-reads.ts';

export interface ReaderData {
  readonly directory: string;
  readonly logOrigin: string;
}

export type ReaderMessage =
  | { readonly verb: 'Tree'; readonly read: TreeRead }
  | {
      readonly verb: 'Event';
      readonly tenant: TenantId;
      readonly eventId: EventId;
      readonly visible: readonly Classification[];
    }
  | {
      readonly verb: 'Events';
      readonly tenant: TenantId;
      readonly fromIndex: number;
      readonly endIndex: number;
      readonly limit: number;
      readonly way: EventsWay | undefined;
    }
  | {
      readonly verb: 'Streams';
      readonly tenant: TenantId;
      readonly beyond: StreamsBeyond;
      readonly limit: number;
    }
  | { readonly verb: 'Stream'; readonly tenant: TenantId; readonly streamId: StreamId }
  | { readonly verb: 'StreamCount'; readonly tenant: TenantId }
  | {
      readonly verb: 'UsedKey';
      readonly tenant: TenantId;
      readonly operation: OperationName;
      readonly key: string;
      readonly steadyNowMs: number;
    };

const { directory, logOrigin } = workerData as ReaderData;
const db = openJournalForReading(directory);
const tables = new LogTables(db, logOrigin);
const trees = treeReads(db, logOrigin);

serveThread<ReaderMessage>({
  answer(message) {
    switch (message.verb) {
      case 'Tree':
        return { value: readTree(trees, message.read) };
      case 'Event':
        return { value: tables.event(message.tenant, message.eventId, message.visible) };
      case 'Events': {
        const { tenant, fromIndex, endIndex, limit, way } = message;
        return { value: tables.events(tenant, fromIndex, endIndex, limit, way) };
      }
      case 'Streams':
        return { value: tables.streams(message.tenant, message.beyond, message.limit) };
      case 'Stream':
        return { value: tables.stream(message.tenant, message.streamId) };
      case 'StreamCount':
        return { value: tables.streamCount(message.tenant) };
      case 'UsedKey': {
        const { tenant, operation, key, steadyNowMs } = message;
        return { value: tables.usedKey(tenant, operation, key, steadyNowMs) };
      }
    }
  },
  stop: () => db.close(),
});
